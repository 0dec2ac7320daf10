//! Switches and routers by tc while something happens to them under TCP of four streams. Needs root; says so and passes without.
//!
//! Objective: neither the death of a process nor new programs end a stream or change a byte. Each test prints how long the longest pause
//! was, beside that of a quiet time: `RINGWAY_ROUNDS=5 cargo test --test vale_tc_faults -- --nocapture --test-threads 1`.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "members/routed.rs"]
mod routed;
#[path = "../../ringway/tests/support/mod.rs"]
mod support;

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::{NicPath, PortConf, Switch, SwitchSpec, VlanMode};
use ringway::{Counters, DropReason};
use ringway_lab::Lab;

use routed::{FAR, Routed};
use support::containers::{Containers, address};
use support::members::assert_closed;
use support::streams::Streams;
use support::switch::Temporary;
use support::{child_with_all_open, enter, eventually, role, wait_with};

const STREAMS: usize = 4;

/// What each stream has to bring after something happened.
const ON: u64 = 2 << 20;

/// How long nothing happens, for comparison.
const QUIET: Duration = Duration::from_secs(1);

/// How often something happens in a test.
fn rounds() -> usize {
    std::env::var("RINGWAY_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// Streams between two hosts, and for how long the longest pause of each of them was.
struct Watched {
    streams: Streams,
    /// When nothing happened.
    quiet: Duration,
    /// Each time that something did.
    gaps: Vec<Duration>,
}

impl Watched {
    /// Has streams begin, and looks at a quiet time.
    fn begin(from: &Lab, to: &Lab, address: Ipv4Addr) -> Self {
        let streams = Streams::start(from, to, address, STREAMS);
        streams.flow(ON);
        streams.gap(); // of the beginning
        let start = Instant::now();
        while start.elapsed() < QUIET {
            streams.flow(ON);
        }
        let quiet = streams.gap();
        Self { streams, quiet, gaps: Vec::new() }
    }

    /// Something happens, and all streams go on.
    fn during(&mut self, happens: impl FnOnce(&Streams)) {
        self.streams.gap();
        happens(&self.streams);
        self.streams.flow(ON);
        self.gaps.push(self.streams.gap());
    }

    /// Ends them, with a line for people.
    fn end(self, what: &str) {
        self.streams.end();
        eprintln!("GAPS {what}: {:.0?}; in {QUIET:.0?} without: {:.0?}", self.gaps, self.quiet);
    }
}

/// The switch lost no frames but frames to nobody, and frames for which a queue had no room.
fn assert_lossless(switch: &Switch) {
    assert_closed(switch);
    let expected = [DropReason::NoDestination, DropReason::DeviceFull];
    let lost = |c: &Counters| c.dropped() - expected.iter().map(|why| c.drops(*why)).sum::<u64>();
    for s in switch.stats() {
        let (tx, rx) = (&s.counters.tx, &s.counters.rx);
        assert_eq!((lost(tx), lost(rx)), (0, 0), "{}: tx {tx}; rx {rx}", s.port.name);
    }
}

/// The child of the next test: makes a switch with its members.
#[test]
fn makes_a_switch() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let switch = Switch::create(&words[1], &SwitchSpec::default()).unwrap();
    ["n1", "n2"].iter().for_each(|name| _ = switch.add_nic(name).unwrap());
    wait_with([]);
}

#[test]
fn streams_outlive_who_made_the_switch() {
    for _ in 0..rounds() {
        let Some(net) = Temporary::of_another().and_then(|s| Containers::beside(2, 1500, s)) else { return };
        let mut maker =
            child_with_all_open("makes_a_switch", &format!("{} {}", net.middle.name(), net.switch.name()));
        assert_eq!(net.switch.find_port("n1").unwrap().path, Some(NicPath::Tc));
        let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], address(2));
        watched.during(|_| assert_eq!(maker.kill(), Some(9)));
        watched.end("switch, its maker is killed");
        assert_closed(&net.switch);
    }
}

#[test]
fn a_reload_ends_no_stream() {
    for access in [None, Some(7)] {
        let Some(net) = Containers::new(2, 1500) else { return };
        // With VLANs all takes the crossings.
        let conf =
            PortConf { vlan: access.map_or(VlanMode::Transparent, VlanMode::Access), ..PortConf::default() };
        ["n1", "n2"].iter().for_each(|name| net.switch.set_conf(name, &conf).unwrap());
        let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], address(2));
        (0..rounds()).for_each(|_| watched.during(|_| _ = net.switch.reload().unwrap()));
        watched.end(&format!("switch, reload, VLAN {access:?}"));
        match access {
            None => assert_lossless(&net.switch),
            Some(_) => assert_closed(&net.switch), // queues of crossings lose some without a reload, too
        }
    }
}

/// The child of the next test: reloads until it is killed.
#[test]
fn reloads() {
    let Some(words) = role() else { return };
    let switch = Switch::open(&words[0]).unwrap();
    switch.reload().unwrap();
    eprintln!("{}", support::ALL_OPEN);
    loop {
        switch.reload().unwrap();
    }
}

#[test]
fn a_reload_that_is_killed_ends_no_stream() {
    let Some(net) = Containers::new(2, 1500) else { return };
    let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], address(2));
    for delay in [0, 7, 31, 64, 113] {
        watched.during(|_| {
            let mut reloader = child_with_all_open("reloads", net.switch.name());
            thread::sleep(Duration::from_millis(delay));
            assert_eq!(reloader.kill(), Some(9));
        });
    }
    watched.during(|_| _ = net.switch.reload().unwrap());
    watched.end("switch, reloads are killed");
    assert_lossless(&net.switch);
}

/// The child of the next tests.
#[test]
fn follows() {
    routed::follow();
}

#[test]
fn a_router_is_killed_and_taken_over_at_once() {
    let Some(net) = Routed::new() else { return };
    let mut process = net.process();
    let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], FAR);
    assert!(net.forwards(|| watched.streams.flow(ON)));
    for _ in 0..rounds() {
        watched.during(|_| {
            assert_eq!(process.kill(), Some(9));
            process = net.process();
        });
        assert!(net.forwards(|| watched.streams.flow(ON)), "the new process' tables are used");
    }
    watched.end("router, killed and taken over at once");
    drop(process);
}

#[test]
fn a_router_is_killed_and_taken_over_when_the_kernel_forwards() {
    let Some(net) = Routed::new() else { return };
    let mut process = net.process();
    let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], FAR);
    for _ in 0..rounds() {
        watched.during(|streams| {
            assert_eq!(process.kill(), Some(9));
            eventually("the kernel forwards", || match net.forwards(|| streams.flow(ON)) {
                true => Err("the fast path does".into()),
                false => Ok(()),
            });
            process = net.process();
        });
    }
    watched.end("router, killed and taken over when the kernel forwards");
    drop(process);
}
