//! `ringway vale list`.

use std::time::Duration;

use ringway::switch::{Module, SwitchPortStats};
use ringway_watch::switches::Reading;
use serde_json::{Value, json};

use super::port::{access_keys, rights};
use super::{chosen, many};
use crate::console::Console;
use crate::failure::Failure;
use crate::router::add as router;
use crate::router::describe;
use crate::visible::no_switch;

/// Show switches and their ports, routers and their members
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of each port: number, name, whether it stays or goes away with its last user, is an interface, the host's side of one or \
an interface that was deleted meanwhile, who may open it, how many addresses the switch \
learned of it, and the process that has it open.

Keys of --json, which stay as they are; new ones may be added:
  switches[]        by name
    name, slots, rings, buffers (bytes of each), quota, module (bridge, hub, or the path of one of the user's)
    ageing          seconds; 0: addresses are remembered for ever
    memory          bytes of the kernel, of the switch and all its ports
    ports[]         by number
      number, name, addresses
      ephemeral     whether it goes away with its last user
      nic           index of the interface that it is, or null
      host          whether it is the host's side of that interface
      path          of an interface, how frames get in and out: xdp or tc
      gone          whether that interface was deleted
      owner, uid, group, gid, mode (octal, as text)
      open, pid     whether a process has it open, and which;
                    pid is null for one of another pid namespace
  routers[]         by name
    name, groups    (multipath groups that there is room for)
    ready           whether members forward, rather than leave all to the kernel
    fib_in_sync     whether the tables are known to be the kernel's
    heartbeat_age   seconds since the process was heard; null: never
    pid             process that follows the kernel's tables, or null
    status          what that process says: routes, next_hops, pending, hindrance (what packets
                    may not go around, so that the kernel forwards), events, syncs, overruns, repairs and more; or null
    members[]       number, name, index, path (xdp or tc), gone (the interface was deleted), forwards4, forwards6, frames_in,
                    counters (by name)

Examples:
  ringway vale list
  ringway vale list vale0 --json | jq '.switches[0].ports[].name'")]
pub(super) struct Args {
    /// Only this switch or router
    switch: Option<String>,
}

impl Args {
    pub(super) fn run(&self, console: Console) -> Result<(), Failure> {
        let switches: Vec<Reading> = chosen(self.switch.as_deref())?.iter().map(Reading::of).collect();
        let routers = router::chosen(self.switch.as_deref())?;
        let text = switches.iter().map(text_of).chain(routers.iter().map(router::list));
        let text: Vec<String> = text.collect();
        let text = if text.is_empty() { no_switch()? } else { text.join("\n") };
        let objects: Vec<Value> = switches.iter().map(object).collect();
        let routers: Vec<Value> = routers.iter().map(describe::object).collect();
        console.result(&text, &json!({ "switches": objects, "routers": routers }))?;
        Ok(())
    }
}

fn text_of(s: &Reading) -> String {
    let ageing = match s.spec.ageing {
        Duration::ZERO => "never".to_owned(),
        time => format!("after {} s", seconds(time)),
    };
    let mut text = format!(
        "{}: {}{}, {} of {} slots each way, addresses age {ageing}, at most {} a port, {} of kernel memory",
        s.name,
        if s.spec.module == Module::Bridge { String::new() } else { format!("{}, ", s.spec.module) },
        many(s.ports.len() as u64, "port"),
        many(s.spec.rings.into(), "ring"),
        s.spec.slots,
        s.spec.quota,
        bytes(s.memory)
    );
    let width = s.ports.iter().map(|p| p.port.name.len()).max().unwrap_or(0);
    for p in &s.ports {
        text += &line(p, width);
    }
    text
}

fn line(p: &SwitchPortStats, width: usize) -> String {
    let port = &p.port;
    let kind = match port.nic {
        Some(_) if port.gone => "deleted",
        Some(_) if port.host => "host",
        Some(_) => "interface",
        None if port.ephemeral => "ephemeral",
        None => "persistent",
    };
    let open = match (port.open, port.pid) {
        (false, _) => "not open".to_owned(),
        (true, Some(pid)) => format!("open by pid {pid}"),
        (true, None) => "open".to_owned(),
    };
    let learned = format!("{} address{}", p.addresses, if p.addresses == 1 { "" } else { "es" });
    format!(
        "\n  {:>3} {:<width$}  {kind:<10}  {}  {learned}, {open}",
        port.number,
        port.name,
        rights(&port.access)
    )
}

fn object(s: &Reading) -> Value {
    let ports: Vec<Value> = s.ports.iter().map(port).collect();
    json!({
        "name": s.name,
        "slots": s.spec.slots,
        "rings": s.spec.rings,
        "buffers": s.spec.buf_size,
        "ageing": seconds(s.spec.ageing),
        "quota": s.spec.quota,
        "module": s.spec.module.to_string(),
        "memory": s.memory,
        "ports": ports,
    })
}

fn port(p: &SwitchPortStats) -> Value {
    let mut object = access_keys(&p.port.access);
    for (key, value) in [
        ("number", json!(p.port.number)),
        ("name", json!(p.port.name)),
        ("ephemeral", json!(p.port.ephemeral)),
        ("nic", json!(p.port.nic)),
        ("host", json!(p.port.host)),
        ("path", json!(p.port.path.map(|path| path.to_string()))),
        ("gone", json!(p.port.gone)),
        ("open", json!(p.port.open)),
        ("pid", json!(p.port.pid)),
        ("addresses", json!(p.addresses)),
    ] {
        object[key] = value;
    }
    object
}

/// Seconds; ages are kept to the ns, in 32 steps.
pub(super) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// Bytes in words.
pub(super) fn bytes(n: usize) -> String {
    format!("{:.1} MiB", n as f64 / f64::from(1 << 20))
}
