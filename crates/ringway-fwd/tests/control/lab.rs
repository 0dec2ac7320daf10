//! A network namespace for a test, which goes away with it, and what `ip` says is in it.

use std::fs::{self, File};
use std::io::Write;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, setns};
use ringway_fwd::control::event::Path;
use ringway_fwd::control::{Kind, Net, State, Via};
use serde_json::Value;

const PREFIX: &str = "rwc-";

/// A namespace with veth pairs a0-a1 and b0-b1, all up, `10.0.0.1/24` and `fd00::1/64` on a0, `10.1.0.1/24` and
/// `fd01::1/64` on b0.
pub(crate) struct Lab {
    name: String,
}

impl Lab {
    /// Moves the calling thread into a new namespace; `None`, and a loud word, without root.
    pub(crate) fn enter() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if !nix::unistd::geteuid().is_root() {
            eprintln!("SKIPPED: making network namespaces needs root");
            return None;
        }
        delete_stale();
        let name = format!("{PREFIX}{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        assert!(Command::new("ip").args(["netns", "add", &name]).status().unwrap().success());
        let lab = Self { name };
        let file = File::open(format!("/run/netns/{}", lab.name)).unwrap();
        setns(file, CloneFlags::CLONE_NEWNET).unwrap();
        lab.ip("link set lo up
            link add a0 type veth peer name a1
            link add b0 type veth peer name b1
            link set a0 up\nlink set a1 up\nlink set b0 up\nlink set b1 up
            addr add 10.0.0.1/24 dev a0\naddr add fd00::1/64 dev a0 nodad
            addr add 10.1.0.1/24 dev b0\naddr add fd01::1/64 dev b0 nodad");
        Some(lab)
    }

    /// Runs commands of `ip`, one a line.
    pub(crate) fn ip(&self, commands: &str) {
        let mut ip = Command::new("ip");
        ip.args(["-n", &self.name, "-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut ip = ip.spawn().unwrap();
        ip.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
        let output = ip.wait_with_output().unwrap();
        assert!(output.status.success(), "{commands}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs `ip` with arguments: what it says, or why it failed.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("ip").args(["-n", &self.name]).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// All routes in the kernel, a line for each, sorted.
    pub(crate) fn routes(&self) -> Vec<String> {
        let mut lines: Vec<_> = ["-4", "-6"].iter().flat_map(|family| self.family(family)).collect();
        lines.sort();
        lines
    }

    fn family(&self, family: &str) -> Vec<String> {
        let output = self.run(&["-N", "-j", "-d", family, "route", "show", "table", "all"]).unwrap();
        let routes: Vec<Value> =
            if output.is_empty() { vec![] } else { serde_json::from_str(&output).unwrap() };
        routes.iter().map(|route| line(route, family)).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Namespaces of owners that were killed.
fn delete_stale() {
    for name in fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|e| e.file_name()) {
        let name = name.to_string_lossy();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !fs::exists(format!("/proc/{pid}")).unwrap_or(true)) {
            let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { "-".into() } else { value.to_string() }, String::from)
}

/// One route of `ip -j`, by interface names.
fn line(route: &Value, family: &str) -> String {
    let (all, bits) = if family == "-4" { ("0.0.0.0/0", 32) } else { ("::/0", 128) };
    let net = match route["dst"].as_str().unwrap() {
        "default" => all.to_owned(),
        net if net.contains('/') => net.to_owned(),
        host => format!("{host}/{bits}"),
    };
    let number =
        |key: &str| route[key].as_str().map_or(route[key].as_u64().unwrap_or(0), |s| s.parse().unwrap());
    let hop = |hop: &Value| {
        let via = if hop["via"].is_null() { &hop["gateway"] } else { &hop["via"]["host"] };
        let weight = hop["weight"].as_u64().unwrap_or(1);
        format!("{}|{}|{weight}", text(&hop["dev"]), text(via))
    };
    let mut hops: Vec<_> = match (&route["nhid"], &route["nexthops"]) {
        (Value::Null, Value::Array(hops)) => hops.iter().map(hop).collect(),
        (Value::Null, _) if number("type") < 6 => vec![hop(route)],
        (Value::Null, _) => vec![],
        (id, _) => vec![format!("nhid {id}")],
    };
    hops.sort();
    let [table, kind, metric] = ["table", "type", "metric"].map(number);
    let (protocol, source) = (number("protocol"), text(&route["prefsrc"]));
    format!("{net} table {table} type {kind} metric {metric} proto {protocol} src {source} {hops:?}")
}

/// All routes of our own, in the same form.
pub(crate) fn ours(state: &State) -> Vec<String> {
    let mut lines: Vec<_> =
        state.all_routes().map(|(table, net, path)| ours_line(state, table, net, path)).collect();
    lines.sort();
    lines
}

fn ours_line(state: &State, table: u32, net: Net, path: &Path) -> String {
    let net = match net {
        Net::V4(prefix) => prefix.to_string(),
        Net::V6(prefix) => prefix.to_string(),
    };
    let kind = match path.kind {
        Kind::Unicast => 1,
        Kind::Local(kind) | Kind::Other(kind) => kind,
        Kind::Blackhole => 6,
        Kind::Unreachable => 7,
        Kind::Prohibit => 8,
        Kind::Throw => 9,
    };
    let name = |dev| state.interface(dev).map_or("?".into(), |link| link.name.clone());
    let mut hops: Vec<_> = match &path.via {
        Via::Object(id) => vec![format!("nhid {id}")],
        Via::Hops(hops) => hops
            .iter()
            .map(|h| {
                format!("{}|{}|{}", name(h.dev), h.gateway.map_or("-".into(), |g| g.to_string()), h.weight)
            })
            .collect(),
    };
    hops.sort();
    let (metric, protocol) = (path.metric, path.protocol);
    let source = path.source.map_or("-".into(), |s| s.to_string());
    format!("{net} table {table} type {kind} metric {metric} proto {protocol} src {source} {hops:?}")
}
