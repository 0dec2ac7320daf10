//! Containers that vanish from a switch by tc. Needs root; says so and passes without.
//!
//! Objective: many go under traffic, one after another, whatever goes first; nothing of the switch stays, all accounts
//! close, and the others lose nothing. `RINGWAY_VANISH` is how many: 200 is worth a run after changes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::switch::NicPath;
use ringway::{Counters, DropReason};
use ringway_lab::Lab;

use support::containers::{Containers, Ends, address, attach, received};
use support::members::{add_by, assert_closed, inside, stats};
use support::streams::Streams;
use support::switch::programs_with;
use support::{eventually, new_lab, output};

/// At a time.
const AT_ONCE: usize = 8;

/// What goes first.
#[derive(Debug, Clone, Copy)]
enum First {
    Namespace,
    Interface,
    Port,
}

fn count() -> usize {
    std::env::var("RINGWAY_VANISH").ok().and_then(|n| n.parse().ok()).unwrap_or(16)
}

/// What there is of a switch but its counters.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    pins: Vec<PathBuf>,
    /// Mounts that keep namespaces.
    mounts: usize,
    /// Outer ends of crossings.
    crossings: usize,
    programs: usize,
}

impl Left {
    fn of(net: &Containers) -> Self {
        let dir = Path::new("/sys/fs/bpf/ringway").join(net.switch.name());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mut pins = Vec::new();
        walk(&dir, &mut pins);
        Self {
            pins,
            mounts: mounts.lines().filter(|line| line.contains(net.switch.name())).count(),
            crossings: output(&net.middle, "ip", &["-br", "link"])
                .lines()
                .filter(|l| l.starts_with("rw"))
                .count(),
            programs: programs_with(&dir.join("nics")).len(),
        }
    }
}

/// All that lies below a directory, in order.
fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found);
        }
        found.push(path);
    }
}

/// A container whose `eth0` has a link address of its own.
fn guest(net: &Containers, i: usize) -> Lab {
    let lab = new_lab().unwrap();
    attach(&lab, &net.middle, i, 1500);
    lab.ip(&format!("link set eth0 address {}", station(i))).unwrap();
    add_by(&net.middle, net.switch.name(), &format!("n{i}"), NicPath::Tc).unwrap();
    lab
}

fn station(i: usize) -> String {
    format!("02:00:00:00:01:{i:02x}")
}

fn vanish(net: &Containers, guest: Lab, name: &str, first: First) {
    let gone = || {
        eventually("the switch sees that it is gone", || match net.switch.find_port(name).unwrap().gone {
            true => Ok(()),
            false => Err(name.into()),
        });
    };
    match first {
        First::Namespace => {
            drop(guest);
            gone();
        }
        First::Interface => {
            net.middle.ip(&format!("link del {name}")).unwrap();
            gone();
        }
        First::Port => {}
    }
    inside(&net.middle, || net.switch.del_port(name, false)).unwrap();
}

#[test]
fn containers_vanish_under_traffic_and_leave_nothing() {
    let Some(net) = Containers::new(3, 1500) else { return };
    let (from, done) = (&net.hosts[2], AtomicBool::new(false));
    for i in 4..4 + AT_ONCE {
        from.ip(&format!("neigh add 10.0.0.{i} lladdr {} dev eth0", station(i))).unwrap();
    }
    let streams = Streams::start(&net.hosts[0], &net.hosts[1], address(2), 1);
    let socket = inside(from, || UdpSocket::bind("10.0.0.3:0").unwrap());
    let before = Left::of(&net);
    let mut took = Duration::ZERO;
    thread::scope(|scope| {
        let _ended = Ends(&done);
        scope.spawn(|| {
            for i in (4..4 + AT_ONCE).cycle().take_while(|_| !done.load(Relaxed)) {
                let _ = socket.send_to(&[1; 900], (address(i), 9));
                thread::sleep(Duration::from_micros(100)); // the processors have other things to do
            }
        });
        let orders = [First::Namespace, First::Interface, First::Port];
        for batch in 0..count().div_ceil(AT_ONCE) {
            let guests: Vec<Lab> = (4..4 + AT_ONCE).map(|i| guest(&net, i)).collect();
            eventually("frames come", || match guests.iter().position(|guest| received(guest, "eth0") < 9) {
                Some(i) => Err(format!("none to {}", i + 4)),
                None => Ok(()),
            });
            let start = Instant::now();
            for (i, guest) in guests.into_iter().enumerate() {
                vanish(&net, guest, &format!("n{}", i + 4), orders[(batch + i) % orders.len()]);
            }
            streams.flow(1 << 20);
            took += start.elapsed();
            eventually("the links are gone", || match output(&net.middle, "ip", &["-br", "link"]) {
                links if (4..4 + AT_ONCE).any(|i| links.contains(&format!("n{i}@"))) => Err(links),
                _ => Ok(()),
            });
        }
    });
    streams.end();
    eprintln!("{} containers vanished in {took:.1?}", count());
    assert_closed(&net.switch);
    eventually("nothing is left", || match Left::of(&net) {
        now if now == before => Ok(()),
        now => Err(format!("{now:?}, and it was {before:?}")),
    });
    // A queue may have no room for copies of frames to hosts that were gone.
    let lost =
        |c: &Counters| c.dropped() - c.drops(DropReason::DeviceFull) - c.drops(DropReason::NoDestination);
    for name in ["n1", "n2"] {
        let counters = stats(&net.switch, name).counters;
        assert_eq!(
            [lost(&counters.tx), lost(&counters.rx)],
            [0, 0],
            "{name}: {} {}",
            counters.tx,
            counters.rx
        );
    }
}
