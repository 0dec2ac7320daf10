//! Switches and routers by tc while something happens to them under TCP of four streams. Needs root; says so and passes without.
//!
//! Objective: neither the death of a process nor new programs end a stream or change a byte, and no stream stands still for long.
//! Each test prints how long the longest pause was, beside that of a quiet time: `cargo test --test vale_tc_faults -- --nocapture
//! --test-threads 1`.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fmt;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::Duration;

use ringway::vale::{NicPath, Switch, SwitchSpec};
use ringway_bench::lab::Lab;
use ringway_router::follow::{Engine, Options};
use ringway_router::kernel::{Outcome, Path, Router, Spec};

use support::containers::{Containers, address};
use support::members::{assert_closed, inside};
use support::streams::Streams;
use support::switch::{Temporary, unused_name};
use support::{Running, Wait, child_with_all_open, enter, eventually, new_lab, readable, role, wait_with};

const STREAMS: usize = 4;
const ROUNDS: usize = 5;

/// What each stream has to bring after something happened.
const ON: u64 = 2 << 20;

/// No stream may stand still for longer. Machines that run tests are busy: on a quiet one it is some milliseconds.
const LONGEST: Duration = Duration::from_secs(2);

/// Streams between two hosts, and how they fared in each time that was looked at.
struct Watched<'a> {
    streams: Streams,
    from: &'a Lab,
    /// When nothing happened, then each time that something did.
    seen: Vec<Seen>,
}

/// What streams noticed.
struct Seen {
    /// The longest pause.
    gap: Duration,
    /// Segments that were sent again.
    again: u64,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms ({} sent again)", self.gap.as_millis(), self.again)
    }
}

impl<'a> Watched<'a> {
    /// Has streams begin, and looks at a quiet time.
    fn begin(from: &'a Lab, to: &Lab, address: Ipv4Addr) -> Self {
        let mut all = Self { streams: Streams::start(from, to, address, STREAMS), from, seen: Vec::new() };
        all.streams.flow(ON);
        all.during(|streams| streams.flow(2 * ON));
        all
    }

    /// Something happens, and all streams go on.
    fn during(&mut self, happens: impl FnOnce(&Streams)) {
        let before = sent_again(self.from);
        self.streams.gap();
        happens(&self.streams);
        self.streams.flow(ON);
        self.seen.push(Seen { gap: self.streams.gap(), again: sent_again(self.from) - before });
    }

    /// Ends them, with a line for people.
    fn end(self, what: &str) {
        self.streams.end();
        eprintln!("GAPS {what}: {:?}; when nothing happened {:?}", &self.seen[1..], self.seen[0]);
        let longest = self.seen.iter().map(|seen| seen.gap).max().unwrap();
        assert!(longest < LONGEST, "{what}: a stream stood still for {longest:?}");
    }
}

/// Segments of TCP that a host sent again.
fn sent_again(lab: &Lab) -> u64 {
    let text = inside(lab, || std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap());
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let [names, values] = [lines.next().unwrap(), lines.next().unwrap()];
    let mut both = names.split(' ').zip(values.split(' '));
    both.find(|(name, _)| *name == "RetransSegs").unwrap().1.parse().unwrap()
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
    for _ in 0..ROUNDS {
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
    let Some(net) = Containers::new(2, 1500) else { return };
    let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], address(2));
    (0..ROUNDS).for_each(|_| watched.during(|_| _ = net.switch.reload().unwrap()));
    watched.end("switch, reload");
    assert_closed(&net.switch);
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
    assert_closed(&net.switch);
}

/// The child of the next tests: makes a router or takes it over, and keeps its tables those of the kernel.
#[test]
fn follows() {
    let Some(words) = role() else { return };
    enter(&words[0]);
    let options =
        Options { nics: vec!["n1".into(), "n2".into()], path: Some(Path::Tc), ..Options::default() };
    let made = match Router::open(&words[1]) {
        Ok(_) => Engine::take_over(&words[1], &options),
        Err(_) => Engine::create(&words[1], &Spec::default(), &options),
    };
    let (mut engine, _) = made.unwrap();
    eprintln!("{}", support::ALL_OPEN);
    loop {
        readable(Wait::Poll, engine.as_fd().as_raw_fd(), engine.wait().as_millis() as i32 + 1);
        engine.turn().unwrap();
    }
}

/// Two networks with a host each, and the router between them.
struct Routed {
    hosts: [Lab; 2],
    middle: Lab,
    name: String,
}

impl Routed {
    fn new() -> Option<Self> {
        let (name, hosts, middle) = (unused_name()?, [new_lab()?, new_lab()?], new_lab()?);
        for (host, i) in hosts.iter().zip(1..) {
            host.plain_veth_to("eth0", &middle, &format!("n{i}")).unwrap();
            host.ip(&format!("addr add 10.0.{i}.2/24 dev eth0")).unwrap();
            host.ip(&format!("route add default via 10.0.{i}.1")).unwrap();
            middle.ip(&format!("addr add 10.0.{i}.1/24 dev n{i}")).unwrap();
        }
        middle.exec("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
        Some(Self { hosts, middle, name })
    }

    /// A process that follows the kernel, when it has made the router or taken it over.
    fn process(&self) -> Running {
        child_with_all_open("follows", &format!("{} {}", self.middle.name(), self.name))
    }

    /// Packets that the fast path forwarded.
    fn forwarded(&self) -> u64 {
        let stats = inside(&self.middle, || Router::open(&self.name).unwrap().stats());
        stats.iter().map(|s| s.counts.get(Outcome::Forwarded)).sum()
    }

    /// Whether it forwards now: `flow` is what makes packets.
    fn forwards(&self, flow: impl Fn()) -> bool {
        let before = self.forwarded();
        flow();
        self.forwarded() > before
    }
}

impl Drop for Routed {
    fn drop(&mut self) {
        let deleted = Router::open(&self.name).and_then(Router::delete);
        assert!(deleted.is_ok() || thread::panicking(), "{deleted:?}");
    }
}

const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

#[test]
fn a_router_is_killed_and_taken_over_at_once() {
    let Some(net) = Routed::new() else { return };
    let mut process = net.process();
    let mut watched = Watched::begin(&net.hosts[0], &net.hosts[1], FAR);
    assert!(net.forwards(|| watched.streams.flow(ON)));
    for _ in 0..ROUNDS {
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
    for _ in 0..ROUNDS {
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
