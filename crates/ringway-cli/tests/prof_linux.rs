//! `ringway prof` on Linux itself, end to end: it forwards between veths as router and as bridge, and each sample finds its group.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::Path;

use ringway_lab::{Lab, is_root};
use serde_json::Value;
use support::schema::Schema;
use support::{Running, file, run, start};

/// A sender, the machine that forwards, and a sink, each in a namespace of its own.
struct Bed {
    sender: Lab,
    device: Lab,
    _sink: Lab,
}

const ROUTER_MAC: &str = "02:00:00:00:00:0a";
const SINK_MAC: &str = "02:00:00:00:00:0d";

impl Bed {
    /// `None`, said loudly, without root.
    fn new() -> Option<Self> {
        if !is_root() {
            eprintln!("SKIP: forwarding needs root (namespaces); run these tests with sudo");
            return None;
        }
        let [sender, device, sink] = std::array::from_fn(|_| Lab::new().unwrap());
        sender.veth_to("s0", &device, "r0").unwrap();
        device.veth_to("r1", &sink, "d0").unwrap();
        sink.ip(&format!("link set d0 address {SINK_MAC}")).unwrap();
        device.ip(&format!("link set r0 address {ROUTER_MAC}")).unwrap();
        Some(Self { sender, device, _sink: sink })
    }

    fn route(&self) {
        for words in ["addr add 10.1.0.1/24 dev r0", "addr add 10.2.0.1/24 dev r1"] {
            self.device.ip(words).unwrap();
        }
        self.device.ip(&format!("neigh add 10.2.0.2 lladdr {SINK_MAC} dev r1 nud permanent")).unwrap();
        self.device.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
    }

    fn bridge(&self) {
        for words in [
            "link add br0 type bridge",
            "link set r0 master br0",
            "link set r1 master br0",
            "link set br0 up",
        ] {
            self.device.ip(words).unwrap();
        }
    }

    /// Packets for the sink, until it is dropped.
    fn send(&self, to: &str) -> Running {
        let words = format!(
            "--netns {} pkt-gen -i packet:s0 -f tx -D {to} -s 10.1.0.2 -d 10.2.0.2:2000-10.2.0.2:2100 -R 100k",
            self.sender.name()
        );
        let running = start(&words.split(' ').collect::<Vec<_>>());
        running.wait_said("packet:s0", 1);
        running
    }

    /// Records until there are enough samples of the path; the model of it.
    fn record(&self, profile: &Path) -> Value {
        let profile = profile.to_str().unwrap();
        let mut found = Value::Null;
        for seconds in ["1", "2", "4", "8", "16", "32"] {
            let netns = self.device.name();
            let record = [
                "--netns",
                netns,
                "prof",
                "record",
                "--packets",
                "r1:tx",
                "-f",
                "4999",
                "-t",
                seconds,
                "-o",
                profile,
                "--json",
            ];
            Schema::read().check("prof record", &run(&record).json());
            found = run(&["prof", "model", profile, "--json"]).json();
            if found["profiles"][0]["costs"]["samples"].as_u64().unwrap() >= 200 {
                break;
            }
        }
        Schema::read().check("prof model", &found);
        found["profiles"][0].clone()
    }
}

fn share(profile: &Value, group: &str, key: &str) -> f64 {
    let groups = profile["costs"]["groups"].as_array().unwrap();
    groups.iter().find(|g| g["group"] == group).unwrap()[key].as_f64().unwrap()
}

/// What holds for each path: packets were counted, costs add up, and hardly a sample is without a group by its callers.
fn check(profile: &Value) {
    let costs = &profile["costs"];
    assert!(costs["samples"].as_u64().unwrap() >= 200 && costs["packets"].as_u64().unwrap() > 0, "{costs}");
    let ticks: f64 = costs["groups"].as_array().unwrap().iter().map(|g| g["ticks"].as_f64().unwrap()).sum();
    let total = costs["total"].as_f64().unwrap();
    assert!(total > 0.0 && (ticks / total - 1.0).abs() < 1e-6, "{ticks} {total}");
    let (other, flat) = (share(profile, "other", "share"), share(profile, "other", "flat_share"));
    assert!(other <= 0.05 && flat > other, "by stack {other}, by name {flat}: {}", profile["unruled"]);
    assert!(["RX", "TX", "postrouting"].iter().all(|g| share(profile, g, "share") > 0.0), "{costs}");
    assert_eq!(profile["about"]["gaps"]["files"]["kernel"], Value::Null);
}

#[test]
fn linux_forwards_and_each_sample_finds_its_group() {
    let Some(bed) = Bed::new() else { return };
    bed.route();
    let _sender = bed.send(ROUTER_MAC);
    let profile = file("route.prof");
    check(&bed.record(&profile));
    let profile = profile.to_str().unwrap();
    let folded = run(&["prof", "flame", "--folded", profile]).stdout;
    assert!(
        folded.contains(";net_rx_action;") && folded.contains(";ip_forward"),
        "no stack of a forwarded packet"
    );

    let (svg, page) = (file("route.svg"), file("route.html"));
    let both = ["-o", svg.to_str().unwrap(), "--page", page.to_str().unwrap()];
    let drawn = run(&[&["prof", "flame", profile, "--json"][..], &both].concat()).json();
    has_graph(&page);
    Schema::read().check("prof flame", &drawn);
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains(">postrouting ") && svg.contains("ip_forward"));
    let text = run(&["prof", "model", profile, "--page", page.to_str().unwrap()]).stdout;
    for words in [
        "flat, share %",
        "core cycles",
        "R_max = ",
        "packets by r1:tx",
        "tier B",
        "samples with a function without name",
    ] {
        // A machine with hardware counters has cycles instead of ticks.
        assert!(text.contains(words) || text.contains("tier A"), "{words}: {text}");
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("postrouting"));

    let page_of_both = file("same.html");
    let to = page_of_both.to_str().unwrap();
    let same = run(&["prof", "diff", profile, profile, "--json", "--page", to]).json();
    has_graph(&page_of_both);
    Schema::read().check("prof diff", &same);
    let changes = same["changes"].as_array().unwrap();
    assert!(
        changes.iter().all(|c| c["significant"] == false) && same["warnings"].as_array().unwrap().is_empty()
    );
}

/// The page is whole, and has the image in itself.
fn has_graph(page: &Path) {
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("data:image/svg+xml")
            && page.contains("ip_forward")
            && page.trim_end().ends_with("</html>")
    );
}

#[test]
fn a_bridge_forwards_and_each_sample_finds_its_group() {
    let Some(bed) = Bed::new() else { return };
    bed.bridge();
    let _sender = bed.send(SINK_MAC);
    let profile = file("bridge.prof");
    check(&bed.record(&profile));
    let folded = run(&["prof", "flame", "--folded", "--thread", "", profile.to_str().unwrap()]).stdout;
    assert!(folded.contains(";br_handle_frame"), "no stack of a bridged packet");
}
