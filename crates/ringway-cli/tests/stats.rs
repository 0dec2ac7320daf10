//! `ringway stats --json`: its keys, and the rings of an interface.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use ringway_lab::{Lab, is_root};
use serde_json::Value;
use support::schema::Schema;
use support::{LIMIT, pipe, run, start, wait_open};

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("{object}")).keys().map(String::as_str).collect()
}

/// The counters of one port when it has received `frames`.
fn until_received(port: &str, frames: u64) -> Value {
    let begin = Instant::now();
    loop {
        let all = run(&["stats", port, "--json"]).json();
        if all["ports"][0]["rx"]["frames_out"] == frames {
            return all;
        }
        assert!(begin.elapsed() < LIMIT, "{all}");
    }
}

const COUNTERS: [&str; 11] = [
    "busy_syncs",
    "bytes_out",
    "dropped",
    "drops",
    "frames_in",
    "frames_out",
    "resets",
    "syncs",
    "wakeups",
    "wakeups_withheld",
    "link_changes",
];

/// What scripts rely on: a key that goes away or changes its name breaks them.
#[test]
fn the_keys_are_those_of_the_page() {
    let (a, b) = pipe();
    let running = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    run(&["pkt-gen", "-i", &a, "-f", "tx", "-n", "321", "--json"]).json();
    let all = until_received(&b, 321);
    assert_eq!(keys(&all), ["ports", "totals"]);
    let port = &all["ports"][0];
    assert_eq!(keys(port), ["backend", "interface", "name", "opened", "pid", "rings", "rx", "tx"]);
    let with = |more: &[&'static str]| {
        let mut keys = [&COUNTERS[..], more].concat();
        keys.sort_unstable();
        keys
    };
    for direction in ["rx", "tx"] {
        assert_eq!(keys(&port[direction]), with(&[]));
        assert_eq!(port[direction], all["totals"][direction], "one port is all");
        let drops = &port[direction]["drops"];
        assert!(["ring_full", "bad_slot", "no_memory"].iter().all(|d| drops[d] == 0), "{drops}");
    }
    Schema::read().check("stats", &all);
    let rings = port["rings"].as_array().unwrap();
    for (ring, direction) in rings.iter().zip(["rx", "tx"]) {
        assert_eq!(keys(ring), with(&["direction", "fill", "ring", "slots"]));
        assert_eq!((&ring["direction"], &ring["ring"]), (&direction.into(), &0.into()));
        assert_eq!(ring["frames_out"], port[direction]["frames_out"]);
    }
    assert_eq!((rings.len(), &rings[0]["slots"], &port["interface"]), (2, &1024.into(), &Value::Null));
    let count = |key: &str| port["rx"][key].as_u64().unwrap();
    assert!((1..=count("syncs")).contains(&count("busy_syncs")), "{port}");
    running.interrupt();
}

#[test]
fn watching_adds_rates() {
    let (a, b) = pipe();
    let receiving = start(&["pkt-gen", "-i", &b, "-f", "rx"]);
    wait_open(&b);
    let sending = start(&["pkt-gen", "-i", &a, "-f", "tx", "-R", "10k"]);
    wait_open(&a);
    let watching = start(&["stats", &b, "-w", "0.2", "--json"]);
    watching.wait_said("\"wire_bps\"", 6); // rx and tx, three times
    let ended = watching.interrupt();
    let looks: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rates: Vec<&Value> = looks.iter().map(|look| &look["ports"][0]["rates"]).collect();
    assert!(rates[0].is_null() && rates.len() > 3, "{ended:?}");
    assert_eq!(keys(rates[1]), ["rx", "seconds", "tx"]);
    assert_eq!(keys(&rates[1]["rx"]), ["bps", "dropped", "pps", "wire_bps"]);
    let number = |value: &Value| value.as_f64().unwrap();
    for (look, rates) in looks.windows(2).zip(&rates[1..]) {
        let count = |look: &Value| number(&look["ports"][0]["rx"]["frames_out"]);
        let (pps, seconds) = (number(&rates["rx"]["pps"]), number(&rates["seconds"]));
        assert!((pps * seconds - (count(&look[1]) - count(&look[0]))).abs() < 0.5, "{look:?}");
        assert!((number(&rates["rx"]["bps"]) - 480.0 * pps).abs() < 1.0, "{rates}");
        assert_eq!(number(&rates["tx"]["pps"]), 0.0);
    }
    assert!(rates[1..].iter().any(|rates| number(&rates["rx"]["pps"]) > 0.0), "{ended:?}");
    looks.iter().for_each(|look| Schema::read().check("stats", look));
    sending.interrupt();
    receiving.interrupt();
}

/// `ringway` in a namespace; killed when dropped.
struct Within(Child);

impl Within {
    fn start(lab: &Lab, args: &[&str]) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", lab.name(), env!("CARGO_BIN_EXE_ringway")]).args(args);
        command.env("RINGWAY_DIR", support::directory()).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn rings_of_an_interface_add_up() {
    if !is_root() {
        eprintln!("SKIP: the rings of an interface need root (namespaces, eBPF); run these tests with sudo");
        return;
    }
    let lab = Lab::new().unwrap();
    let queues = "numtxqueues 2 numrxqueues 2";
    lab.ip(&format!("link add v0 {queues} type veth peer name v1 {queues}")).unwrap();
    for end in ["v0", "v1"] {
        lab.ip(&format!("link set {end} up")).unwrap();
    }
    let receiver = Within::start(&lab, &["pkt-gen", "-i", "ebpf:v1", "-f", "rx"]);
    wait_open("ebpf:v1");
    let mut sender = Within::start(&lab, &["pkt-gen", "-i", "ebpf:v0", "-f", "tx", "-n", "2000", "-R", "2k"]);
    assert!(sender.0.wait().unwrap().success());
    let port = &until_received("ebpf:v1", 2000)["ports"][0];
    let rings = port["rings"].as_array().unwrap();
    let names: Vec<String> = rings.iter().map(|r| format!("{}{}", r["direction"], r["ring"])).collect();
    assert_eq!(names, ["\"rx\"0", "\"rx\"1", "\"tx\"0", "\"tx\"1"]);
    for key in ["frames_in", "frames_out", "bytes_out", "syncs", "busy_syncs", "dropped"] {
        let sum: u64 = rings[..2].iter().map(|r| r[key].as_u64().unwrap()).sum();
        assert_eq!(port["rx"][key], sum, "{key}: {port}");
    }
    assert!(rings.iter().all(|r| r["slots"] == 2048), "{port}");
    let netns = std::fs::metadata(format!("/run/netns/{}", lab.name())).unwrap().ino();
    assert_eq!((&port["interface"]["name"], &port["interface"]["netns"]), (&"v1".into(), &netns.into()));
    assert_eq!(port["pid"], receiver.0.id());
    assert!(port["backend"].as_str().unwrap().contains("driver veth, 2 rx and 2 tx rings"), "{port}");
    assert!(run(&["top", "--once", "--interval", "50"]).stdout.contains("\nrx1 "));
    // The pid is that of the receiver: `ip` has become it.
    let checked = run(&["stats", "--check", "ebpf:v1"]);
    assert_eq!((checked.code, checked.stdout), (Some(0), format!("ebpf:v1 (pid {}): ok\n", receiver.0.id())));
    let metrics = support::openmetrics::parse(&run(&["stats", "--openmetrics"]).stdout);
    let on = [("port", "ebpf:v1"), ("backend", "ebpf"), ("interface", "v1"), ("netns", &netns.to_string())];
    assert_eq!(metrics["ringway_port"].value(&on), 1.0);
    let received: f64 = ["rx0", "rx1"]
        .map(|r| metrics["ringway_ring_frames"].value(&[on[0], ("ring", r), ("dir", "in")]))
        .iter()
        .sum();
    assert_eq!(received, 2000.0);
}
