//! `ringway doctor`: on this machine, with rights taken away, and on interfaces of all kinds.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;

use ringway_lab::{AnyError, Lab, LabError, is_root};
use serde_json::Value;
use support::confined::{self, CAP_BPF, CAP_IPC_LOCK, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN};
use support::schema::Schema;
use support::{command, run};

fn root() -> bool {
    if !is_root() {
        eprintln!("SKIP: taking rights away and making interfaces needs root; run these tests with sudo");
    }
    is_root()
}

/// What a run found.
struct Found {
    code: Option<i32>,
    all: Value,
}

impl Found {
    fn of(output: &Output) -> Self {
        let all: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let found = Self { code: output.status.code(), all };
        for c in found.checks() {
            let keys: Vec<&str> = c.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys, ["cure", "detail", "id", "status", "what"]);
            assert_eq!(c["status"] == "ok", c["cure"].is_null(), "{c}");
        }
        Schema::read().check("doctor", &found.all);
        assert_eq!(found.all["works"], Value::from(found.code == Some(0)));
        found
    }

    fn checks(&self) -> impl Iterator<Item = &Value> {
        let of_interface = self.all["interface"]["checks"].as_array().into_iter().flatten();
        self.all["checks"].as_array().unwrap().iter().chain(of_interface)
    }

    fn check(&self, id: &str) -> &Value {
        self.checks().find(|c| c["id"] == id).unwrap_or_else(|| panic!("no {id}: {}", self.all))
    }

    fn ok(&self, id: &str) -> bool {
        self.check(id)["status"] == "ok"
    }

    /// The finding has this status, and each of `texts` in its detail or cure.
    #[track_caller]
    fn assert(&self, id: &str, status: &str, texts: &[&str]) {
        let c = self.check(id);
        assert_eq!(c["status"], status, "{c}");
        let all = format!("{} {}", c["detail"], c["cure"]);
        texts.iter().for_each(|t| assert!(all.contains(t), "{t}: {c}"));
    }

    /// What is in the way of a backend.
    fn obstacle(&self, backend: &str) -> &Value {
        let all = self.all["backends"].as_array().unwrap();
        &all.iter().find(|b| b["backend"] == backend).unwrap()["id"]
    }
}

/// `ringway doctor --json` with rights taken away by `confine`.
fn confined(confine: impl FnOnce(&mut Command)) -> Found {
    let mut command = command(&["doctor", "--json"]);
    confine(&mut command);
    Found::of(&command.output().unwrap())
}

/// `ringway doctor IF --json` in a lab.
fn inside(lab: &Lab, interface: &str) -> Found {
    let output = in_lab(lab, &["doctor", interface, "--json"]).unwrap();
    Found::of(&output)
}

fn in_lab(lab: &Lab, args: &[&str]) -> Result<Output, LabError> {
    lab.run(|| Ok(command(args).output().unwrap()))
}

/// A lab with the veth a0-a1.
fn pair() -> Option<Lab> {
    let lab = root().then(|| Lab::new().unwrap())?;
    lab.veth("a0", "a1").unwrap();
    Some(lab)
}

/// Output of a tool in a lab.
fn tool(lab: &Lab, program: &str, args: &[&str]) -> String {
    let output = Command::new("ip").args(["netns", "exec", lab.name(), program]).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_for_people_is_plain_in_a_pipe() {
    let ended = run(&["doctor"]);
    assert!(ended.stdout.is_ascii());
    assert!(ended.stdout.contains("\nok      anonymous shared memory (memfd)\n"), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    for pair in lines.windows(2) {
        let bad = ["warn ", "missing ", "unknown "].iter().any(|m| pair[0].starts_with(m));
        assert_eq!(bad, pair[1].starts_with("        -> "), "{pair:?}");
    }
    assert!(ended.stdout.contains("orts of interfaces that work here") || ended.code == Some(1), "{ended:?}");
    assert!(run(&["doctor", "no-such-if"]).error(1).contains("`ip link` lists"));
    assert!(run(&["doctor", "a/b"]).error(1).contains("no such interface"));
}

#[test]
fn a_user_is_told_which_capabilities_are_missing() {
    if !root() {
        return;
    }
    // The build's own directory may be closed to other users.
    let copy = Scratch::new("user");
    let program = copy.0.join("ringway");
    fs::copy(env!("CARGO_BIN_EXE_ringway"), &program).unwrap();
    let output = Command::new(&program).args(["doctor", "--json"]).uid(65534).gid(65534).output().unwrap();
    let found = Found::of(&output);
    assert_eq!(found.code, Some(1));
    assert_eq!(found.all["rights"]["euid"], 65534);
    let cure = format!(
        "run as root, or `sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_sys_admin+ep {}`",
        program.display()
    );
    for id in ["cap-net-raw", "cap-bpf", "bpf-array", "packet-socket", "xdp-socket", "private-netns"] {
        found.assert(id, "missing", &[&cure]);
    }
    found.assert("live-frames", "unknown", &["no private network namespace", &cure]);
    found.assert("xdp-program", "missing", &["not permitted without CAP_BPF and CAP_NET_ADMIN"]);
    assert!(found.ok("memfd") && found.ok("bpf-call"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("ringway: no packet I/O works: AF_PACKET socket: "), "{error}");
    assert!(error.trim_end().ends_with(&format!("{cure} [E0116]")), "{error}");
}

#[test]
fn a_dropped_capability_is_named() {
    if !root() {
        return;
    }
    let found = confined(|c| confined::without(c, &[CAP_NET_RAW]));
    assert_eq!(found.code, Some(0), "ebpf: needs no CAP_NET_RAW: {}", found.all);
    for id in ["cap-net-raw", "xdp-socket", "packet-socket", "packet-fanout"] {
        found.assert(id, "missing", &["docker run --cap-add=NET_RAW,"]);
    }
    found.assert("packet-ring", "unknown", &["no AF_PACKET socket", "--cap-add=NET_RAW"]);
    assert!(found.ok("bpf-programs") && found.ok("live-frames"), "{}", found.all);
    assert!(found.obstacle("ebpf").is_null());
    assert_eq!(
        (found.obstacle("xdp-copy"), found.obstacle("packet")),
        (&"xdp-socket".into(), &"packet-socket".into())
    );

    let found = confined(|c| confined::without(c, &[CAP_BPF, CAP_SYS_ADMIN]));
    assert_eq!(found.code, Some(0), "packet: needs no CAP_BPF: {}", found.all);
    for id in ["cap-bpf", "bpf-array", "bpf-ringbuf", "bpf-syscall-program", "bpf-loop", "bpf-programs"] {
        found.assert(id, "missing", &["--cap-add=BPF"]);
    }
    found.assert("bpf-array", "missing", &["not permitted without CAP_BPF"]);
    found.assert("private-netns", "missing", &["not permitted without CAP_SYS_ADMIN", "--cap-add=SYS_ADMIN"]);
    assert!(found.ok("bpf-call") && found.ok("packet-ring") && found.ok("xdp-umem"), "{}", found.all);
    assert_eq!(
        (found.obstacle("ebpf"), found.obstacle("xdp-copy")),
        (&"bpf-array".into(), &"xdp-program".into())
    );

    let found = confined(|c| confined::without(c, &[CAP_NET_ADMIN]));
    found.assert("private-netns", "missing", &["not permitted without CAP_NET_ADMIN", "--cap-add=NET_ADMIN"]);
    assert_eq!(
        (found.obstacle("ebpf"), found.obstacle("xdp-copy")),
        (&"cap-net-admin".into(), &"cap-net-admin".into())
    );
    assert!(found.obstacle("packet").is_null());
}

#[test]
fn too_little_memory_to_lock_is_told() {
    if !root() {
        return;
    }
    let found = confined(|c| {
        confined::locked_memory(c, 64 << 10);
        confined::without(c, &[CAP_IPC_LOCK]);
    });
    found.assert("memlock", "warn", &["only 64 KiB", "LimitMEMLOCK=infinity"]);
    found.assert("xdp-umem", "missing", &["limit of locked memory", "`ulimit -l unlimited`"]);
    assert_eq!(found.obstacle("xdp-copy"), "xdp-umem");
    assert!(found.obstacle("ebpf").is_null() && found.ok("bpf-array"), "{}", found.all);
    let found = confined(|c| confined::locked_memory(c, 64 << 10));
    assert!(found.ok("memlock") && found.ok("xdp-umem"), "CAP_IPC_LOCK lifts the limit: {}", found.all);
}

#[test]
fn a_seccomp_filter_is_told_from_a_missing_capability() {
    if !root() {
        return;
    }
    for error in [libc::EPERM, libc::ENOSYS] {
        let found = confined(|c| confined::deny(c, libc::SYS_bpf, error));
        assert_eq!(found.code, Some(0), "{}", found.all);
        assert_eq!(found.all["rights"]["seccomp"], true);
        for id in ["bpf-call", "bpf-array", "xdp-program"] {
            found.assert(id, "missing", &["a seccomp filter denies bpf(2)", "--security-opt seccomp="]);
        }
        assert!(found.ok("cap-bpf") && found.ok("packet-ring"));
        assert_eq!(found.obstacle("ebpf"), "bpf-call");
    }
    let found = confined(|c| confined::deny(c, libc::SYS_socket, libc::EAFNOSUPPORT));
    assert_eq!(found.code, Some(1), "{}", found.all);
    found.assert(
        "packet-socket",
        "missing",
        &["a seccomp filter denies socket(2)", "RestrictAddressFamilies="],
    );
    let found = confined(|c| {
        confined::deny(c, libc::SYS_bpf, libc::EPERM);
        confined::without(c, &[CAP_BPF, CAP_SYS_ADMIN]);
    });
    found.assert("bpf-call", "missing", &["seccomp"]);
    found.assert("bpf-array", "missing", &["not permitted without CAP_BPF"]);
}

#[test]
fn the_bpf_file_system_is_looked_for() {
    if !root() {
        return;
    }
    let with = |prepare: &str| {
        let script = format!("{prepare}; exec \"$0\" doctor --json");
        let args = ["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_ringway")];
        Found::of(&Command::new("unshare").args(args).output().unwrap())
    };
    let found = with("umount -l /sys/fs/bpf 2>/dev/null");
    found.assert("bpffs", "warn", &["not mounted", "`mount -t bpf bpf /sys/fs/bpf`"]);
    assert_eq!(found.code, Some(0));
    assert!(with("mount -t bpf bpf /sys/fs/bpf").ok("bpffs"));
}

#[test]
fn a_user_namespace_is_told() {
    if !root() {
        return;
    }
    let args = ["-U", "-r", "-n", env!("CARGO_BIN_EXE_ringway"), "doctor", "--json"];
    let output = Command::new("unshare").args(args).output().unwrap();
    if String::from_utf8_lossy(&output.stderr).starts_with("unshare:") {
        eprintln!("SKIP: this machine allows no user namespaces");
        return;
    }
    let found = Found::of(&output);
    assert_eq!(found.code, Some(0), "AF_PACKET works there: {}", found.all);
    assert_eq!(found.all["rights"]["user_namespace"], true);
    found.assert("user", "warn", &["rootless"]);
    found.assert("bpf-array", "missing", &["in a user namespace only", "rootless container"]);
}

#[test]
fn a_veth_is_served_by_ebpf() {
    let Some(lab) = pair() else { return };
    let before = tool(&lab, "ip", &["-d", "link"]);
    lab.exec("ethtool", &["-K", "a1", "gro", "off"]).unwrap();
    let found = inside(&lab, "a0");
    found.assert("if-takes-frames", "warn", &["does not run NAPI", "`ethtool -K a1 gro on`"]);
    found.assert("if-zero-copy", "missing", &["driver veth has none"]);
    assert_eq!(found.all["choice"], "ebpf:a0");
    assert_eq!(found.obstacle("xdp-zero-copy"), "if-zero-copy");
    assert!(
        found.ok("if-native-xdp") && found.ok("if-xdp-free") && found.ok("if-host") && found.ok("if-link")
    );
    assert_eq!(found.all["interface"]["peer"], "a1");

    lab.exec("ethtool", &["-K", "a1", "gro", "on", "tx", "off"]).unwrap();
    let found = inside(&lab, "a0");
    assert_eq!(found.all["choice"], "ebpf:a0", "{}", found.all);
    assert!(found.ok("if-takes-frames") && found.ok("if-peer-offloads"));
    let text = in_lab(&lab, &["doctor", "a0"]).unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let end = "\nauto:a0 would choose ebpf:a0\n  not xdp:a0 with zero copy, because of zero-copy AF_XDP: driver veth has none\n";
    assert!(text.ends_with(end), "{text}");
    let after = tool(&lab, "ip", &["-d", "link"]);
    assert_eq!(before.lines().count(), after.lines().count(), "nothing was left behind: {after}");
    assert!(!after.contains("prog"), "{after}");
}

#[test]
fn what_the_host_needs_and_what_is_down_is_told() {
    let Some(lab) = pair() else { return };
    lab.ip("addr add 10.9.8.1/24 dev a0").unwrap();
    lab.ip("route add default via 10.9.8.2").unwrap();
    inside(&lab, "a0").assert(
        "if-host",
        "warn",
        &["10.9.8.1, the default route", "ringway bridge -i ebpf:a0 -i ebpf:a0^"],
    );
    lab.ip("link set a1 down").unwrap();
    inside(&lab, "a0").assert("if-link", "warn", &["without a carrier"]);
    lab.ip("link set a0 down").unwrap();
    inside(&lab, "a0").assert("if-link", "warn", &["`ip link set a0 up`"]);
    // More transmit queues there than receive queues here: the kernel refuses native XDP.
    lab.ip("link add b0 numrxqueues 1 numtxqueues 1 type veth peer name b1 numrxqueues 2 numtxqueues 2")
        .unwrap();
    let found = inside(&lab, "b0");
    found.assert("if-native-xdp", "missing", &["b1 has 2 tx queues", "`ethtool -L b1 tx 1`"]);
    assert_eq!(found.all["choice"], "xdp:b0");
}

#[test]
fn a_driver_is_tried_while_nobody_uses_the_interface() {
    let Some(lab) = pair() else { return };
    let tried = |found: &Found| found.all["interface"]["native"].clone();
    assert_eq!(tried(&inside(&lab, "a0")), "works");
    let uses = |what: &str, undo: &str| {
        lab.ip(what).unwrap();
        let found = inside(&lab, "a0");
        assert_eq!(tried(&found), "untried", "{what}: {}", found.all);
        let forced = in_lab(&lab, &["doctor", "a0", "--json", "--try"]).unwrap();
        assert_eq!(tried(&Found::of(&forced)), "works", "{what}");
        lab.ip(undo).unwrap();
    };
    uses("addr add 10.9.8.1/24 dev a0", "addr flush dev a0");
    lab.ip("link add br0 type bridge").unwrap();
    uses("link set a0 master br0", "link set a0 nomaster");
    uses("link add link a0 name m0 type macvlan", "link del m0");
    // The far end of a veth is no user of it.
    assert_eq!(inside(&lab, "a0").all["interface"]["users"], serde_json::json!([]));
    assert!(!tool(&lab, "ip", &["-d", "link"]).contains("prog"), "nothing stays attached");
    // A driver without XDP is not said to refuse.
    lab.ip("link set br0 up").unwrap();
    inside(&lab, "br0").assert("if-native-xdp", "missing", &["driver bridge has none"]);
    let ended = run(&["doctor", "--try"]);
    let text = ended.error(2);
    assert!(text.contains("[IF]") || text.contains("<IF>"), "{text}");
}

#[test]
fn settings_in_the_way_are_set_on_request() {
    let Some(lab) = pair() else { return };
    lab.ip("link set a0 down").unwrap();
    let fix = |interface| Found::of(&in_lab(&lab, &["doctor", interface, "--fix", "--json"]).unwrap());
    let tags = |expected: &str| {
        let all = tool(&lab, "ethtool", &["-k", "a0"]);
        assert!(all.contains(&format!("rx-vlan-offload: {expected}\n")), "{all}");
    };
    tags("on");
    let found = fix("a0");
    let set = |check: &str, command: &str, restore: &str| serde_json::json!({ "check": check, "command": command, "restore": restore, "refused": null });
    let all = [
        set("if-link", "ip link set a0 up", "ip link set a0 down"),
        set("if-offloads", "ethtool -K a0 rxvlan off", "ethtool -K a0 rxvlan on"),
    ];
    assert_eq!(found.all["fixed"], Value::from(all.to_vec()));
    assert!(found.ok("if-link") && found.ok("if-offloads"), "{}", found.all);
    tags("off");
    assert_eq!(fix("a0").all["fixed"], serde_json::json!([]), "nothing is left to do");
    lab.ip("link set a0 down").unwrap();
    let text = in_lab(&lab, &["doctor", "a0", "--fix"]).unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    let line = "did `ip link set a0 up`; `ip link set a0 down` restores\n";
    assert!(text.contains(line), "{text}");
    // Not under a port, and not without the right.
    let args = ["pkt-gen", "-i", "ebpf:a0", "-f", "rx"];
    let owner = lab.run(|| Ok::<_, AnyError>(support::start(&args))).unwrap();
    let start = Instant::now();
    while inside(&lab, "a0").ok("if-ports") {
        assert!(start.elapsed() < support::LIMIT, "the port is not open");
    }
    let ended = in_lab(&lab, &["doctor", "a0", "--fix"]).unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    let pid = owner.pid();
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        error.contains(&format!("pid {pid}, which has ebpf:a0 open; end process {pid} first")),
        "{error}"
    );
    drop(owner);
    lab.ip("link set a0 down").unwrap();
    let refused = lab.run(|| {
        let mut command = command(&["doctor", "a0", "--fix"]);
        confined::without(&mut command, &[CAP_NET_ADMIN]);
        Ok::<_, AnyError>(command.output().unwrap())
    });
    let refused = refused.unwrap();
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        text.contains("not done: a0: `ip link set a0 up` failed: ") && text.contains("CAP_NET_ADMIN"),
        "{text}"
    );
}

#[test]
fn a_far_end_out_of_sight_is_unknown() {
    let (Some(lab), Some(other)) = (pair(), pair()) else { return };
    other.ip("link del a0").unwrap();
    lab.exec("ethtool", &["-K", "a1", "gro", "on"]).unwrap();
    lab.ip(&format!("link set a1 netns {}", other.name())).unwrap();
    other.ip("link set a1 up").unwrap();
    let found = inside(&lab, "a0");
    assert_eq!(found.all["interface"]["peer"], "elsewhere");
    assert!(found.ok("if-takes-frames"), "the kernel tells for the far end: {}", found.all);
    other.exec("ethtool", &["-K", "a1", "gro", "off"]).unwrap();
    inside(&lab, "a0").assert("if-takes-frames", "warn", &["`ethtool -K PEER gro on`"]);
}

#[test]
fn other_programs_are_named() {
    let Some(lab) = pair() else { return };
    let scratch = Scratch::new("programs");
    let object = scratch.compile();
    let attach = |section: &str| {
        let of = format!("link set dev a0 xdp obj {object} sec {section}");
        lab.ip("link set dev a0 xdp off").unwrap();
        lab.ip(&of).unwrap();
        inside(&lab, "a0")
    };
    let found = attach("xdp");
    found.assert(
        "if-xdp-free",
        "missing",
        &["native XDP program", " other is attached", "`ip link set dev a0 xdp off`"],
    );
    assert_eq!(found.all["choice"], "packet:a0");
    assert_eq!(found.all["interface"]["programs"][0]["name"], "other");
    attach("xdp/shared").assert(
        "if-xdp-free",
        "missing",
        &["libxdp's dispatcher", "`xdp-loader unload a0 --all`"],
    );
    lab.ip("link set dev a0 xdp off").unwrap();
    lab.exec("tc", &["qdisc", "add", "dev", "a0", "clsact"]).unwrap();
    let filter = ["filter", "add", "dev", "a0", "egress", "bpf", "da", "obj", &object, "sec", "tc"];
    lab.exec("tc", &filter).unwrap();
    let found = inside(&lab, "a0");
    found.assert("if-tc", "warn", &["tc egress program", "`bpftool net show dev a0`"]);
    assert!(found.ok("if-xdp-free"));
}

#[test]
fn open_ports_are_named_and_their_traffic_is_not_disturbed() {
    let Some(lab) = pair() else { return };
    lab.run_napi("a1").unwrap();
    let count = "2000"; // a ring holds them
    let start = |args: &[&str]| lab.run(|| Ok::<_, AnyError>(support::start(args))).unwrap();
    let receiver = start(&["pkt-gen", "-i", "ebpf:a1", "-f", "rx", "-n", count, "--json"]);
    support::wait_open("ebpf:a1");
    let sender = start(&["pkt-gen", "-i", "ebpf:a0", "-f", "tx", "-n", count, "-R", "200", "--json"]);
    support::wait_open("ebpf:a0");
    // A port is listed a moment before its program is attached.
    let start = Instant::now();
    let found = loop {
        let found = inside(&lab, "a0");
        if !found.ok("if-xdp-free") || start.elapsed() > support::LIMIT {
            break found;
        }
    };
    let (name, pid) = ("ebpf:a0", sender.pid().to_string());
    found.assert(
        "if-xdp-free",
        "missing",
        &[&format!("pid {pid} has {name} open"), &format!("end process {pid}")],
    );
    found.assert("if-ports", "warn", &[&format!("pid {pid} has {name} open")]);
    assert_eq!(found.all["choice"], "packet:a0");
    for _ in 0..3 {
        assert_eq!(inside(&lab, "a1").code, Some(0));
    }
    assert_eq!(sender.end().code, Some(0));
    let received = receiver.end().json();
    assert!(received.to_string().contains(count), "{received}");
    let end = Instant::now() + support::LIMIT; // programs are taken off in the background
    while inside(&lab, "a0").all["choice"] != "ebpf:a0" {
        assert!(Instant::now() < end, "the interface is not free again");
    }
}

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let dir = std::env::temp_dir().join(format!("ringway-doctor-{}-{name}", std::process::id()));
        fs::DirBuilder::new().mode(0o755).create(&dir).unwrap();
        Self(dir)
    }

    /// An object with a program for each hook.
    fn compile(&self) -> String {
        let (source, object) = (self.0.join("other.c"), self.0.join("other.o"));
        let text = "#define SEC(name) __attribute__((section(name), used))\n\
                    SEC(\"xdp\") int other(void *ctx) { return 2; }\n\
                    SEC(\"xdp/shared\") int xdp_dispatcher(void *ctx) { return 2; }\n\
                    SEC(\"tc\") int shape(void *ctx) { return 0; }\n\
                    char _license[] SEC(\"license\") = \"GPL\";\n";
        fs::write(&source, text).unwrap();
        let mut clang = Command::new("clang");
        clang.args(["-O2", "-g", "-target", "bpf", "-c"]).arg(&source).arg("-o").arg(&object);
        let output = clang.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        object.to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_loop_test_passes_frames_by_each_backend() {
    if !root() {
        return;
    }
    let found = Found::of(&command(&["doctor", "--loop", "--json"]).output().unwrap());
    let ids = ["loop-ebpf", "loop-xdp", "loop-packet"];
    assert!(ids.iter().all(|id| found.ok(id)), "{}", found.all);
    let without = confined(|_| ());
    let all = without.all["checks"].as_array().unwrap();
    assert!(all.iter().all(|c| !ids.iter().any(|id| c["id"] == *id)), "only when asked for");
}

#[test]
fn each_program_is_loaded_when_asked_for() {
    if !root() {
        return;
    }
    let found = Found::of(&command(&["doctor", "--programs", "--json"]).output().unwrap());
    let ids =
        ["port", "counts", "host-ring", "switch", "interface", "router"].map(|of| format!("programs-{of}"));
    assert!(ids.iter().all(|id| found.ok(id)), "{}", found.all);
    let without = confined(|_| ());
    assert!(!without.checks().any(|c| c["id"] == *ids[0]), "only when asked for");
}

/// The kernel's types are hidden from this process and its children.
fn without_types(args: &[&str]) -> Output {
    let hidden = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", hidden, "sh", env!("CARGO_BIN_EXE_ringway")]).args(args);
    command.output().unwrap()
}

#[test]
fn a_kernel_that_does_not_tell_its_types_is_named() {
    if !root() {
        return;
    }
    let found = Found::of(&without_types(&["doctor", "--programs", "--json"]));
    found.assert("bpf-types", "missing", &["CONFIG_DEBUG_INFO_BTF"]);
    found.assert("bpf-programs", "unknown", &["CONFIG_DEBUG_INFO_BTF"]);
    found.assert("programs-switch", "missing", &["(BTF)", "CONFIG_DEBUG_INFO_BTF"]);
    assert_eq!(found.obstacle("ebpf"), "bpf-types");
    assert_eq!(found.obstacle("packet"), &Value::Null);
}
