//! What `ringway top` reads: the counters of all open ports and the CPU time of their owners.

use std::collections::HashMap;
use std::fs;
use std::time::SystemTime;

use ringway::{Counters, OpenPort, OpenRing, open_ports, time::monotonic_ns};

use crate::units::printable;

/// Ticks a second of the times in /proc/PID/stat: USER_HZ, which is 100 wherever Ringway runs.
const USER_HZ: f64 = 100.0;

/// All open ports at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    /// When, ns of the monotonic clock.
    pub(super) time_ns: u64,
    pub(super) ports: Vec<Port>,
}

/// Tells a port from all others, also from one of the same name that the same process had open before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) opened: SystemTime,
}

/// One open port.
#[derive(Debug, Clone)]
pub(super) struct Port {
    pub(super) key: Key,
    pub(super) backend: String,
    pub(super) rx: Side,
    pub(super) tx: Side,
    /// `None` when it can't be seen, such as that of another pid namespace.
    pub(super) owner: Option<Process>,
}

/// One direction of a port.
#[derive(Debug, Clone, Default)]
pub(super) struct Side {
    pub(super) all: Counters,
    pub(super) rings: Vec<Ring>,
}

/// One ring.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ring {
    pub(super) counters: Counters,
    pub(super) slots: u32,
    pub(super) fill: u32,
}

/// A process that has ports open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) command: String,
    /// When it was started, in ticks since boot: tells it from another one with the same pid.
    started: u64,
    /// CPU time of all its threads, in ticks.
    ticks: u64,
}

impl Reading {
    /// The ports as they are now.
    pub(super) fn now() -> Self {
        let time_ns = monotonic_ns();
        let mut owners = HashMap::new();
        let mut owner = |pid| {
            owners
                .entry(pid)
                .or_insert_with(|| Process::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?))
                .clone()
        };
        let ports = open_ports().into_iter().map(|p| Port::new(owner(p.pid), p)).collect();
        Self { time_ns, ports }
    }

    pub(super) fn port(&self, key: &Key) -> Option<&Port> {
        self.ports.iter().find(|p| p.key == *key)
    }

    /// Seconds since `earlier`.
    pub(super) fn seconds_since(&self, earlier: &Self) -> f64 {
        self.time_ns.saturating_sub(earlier.time_ns) as f64 / 1e9
    }
}

impl Port {
    fn new(owner: Option<Process>, p: OpenPort) -> Self {
        let side = |all, rings: &[OpenRing]| {
            let ring = |r: &OpenRing| Ring { counters: r.counters, slots: r.slots, fill: r.fill };
            Side { all, rings: rings.iter().map(ring).collect() }
        };
        Self {
            rx: side(p.counters.rx, &p.rx),
            tx: side(p.counters.tx, &p.tx),
            key: Key { name: printable(&p.name), pid: p.pid, opened: p.opened },
            backend: printable(&p.backend),
            owner,
        }
    }
}

impl Process {
    /// From the text of /proc/PID/stat (proc_pid_stat(5)). The name, field 2, may hold anything.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let (_, command) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        let ticks = field(14)?.checked_add(field(15)?)?;
        Some(Self { command: printable(command), started: field(22)?, ticks })
    }

    /// CPU time used since `earlier`, in processors; `None` when that was another process.
    pub(super) fn cpus_since(&self, earlier: &Self, seconds: f64) -> Option<f64> {
        let ticks = self.ticks.checked_sub(earlier.ticks)?;
        (self.started == earlier.started && seconds > 0.0).then(|| ticks as f64 / USER_HZ / seconds)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    /// A port with one ring a direction, which has been open for ages.
    pub(in crate::top) fn port(name: &str, pid: u32, rx: Counters, tx: Counters) -> Port {
        let side = |counters, fill| Side { all: counters, rings: vec![Ring { counters, slots: 1024, fill }] };
        Port {
            key: Key { name: name.into(), pid, opened: SystemTime::UNIX_EPOCH + Duration::from_secs(5) },
            backend: "pipe: zero copy".into(),
            rx: side(rx, 12),
            tx: side(tx, 0),
            owner: Process::parse(&stat("forwarder", 0)),
        }
    }

    pub(in crate::top) fn stat(command: &str, ticks: u64) -> String {
        format!("77 ({command}) S 1 77 77 0 -1 4194560 9 8 7 6 {ticks} 3 2 1 20 0 1 0 4711 1000 50 max")
    }

    #[test]
    fn cpu_time_is_read_whatever_the_name() {
        for name in ["ringway", "a b", ") R 1 2 (", "((", "", "é\n"] {
            let first = Process::parse(&stat(name, 40)).unwrap();
            assert_eq!((first.started, first.ticks), (4711, 43), "{name}");
            assert_eq!(first.command, printable(name));
            let later = Process::parse(&stat(name, 90)).unwrap();
            assert_eq!(later.cpus_since(&first, 2.0), Some(0.25));
            assert_eq!(later.cpus_since(&first, 0.0), None);
            assert_eq!(first.cpus_since(&later, 1.0), None, "time does not go back");
        }
        let other = Process { started: 4712, ..Process::parse(&stat("x", 50)).unwrap() };
        assert_eq!(other.cpus_since(&Process::parse(&stat("x", 40)).unwrap(), 1.0), None, "pid used again");
        for bad in ["", "1 (x", "1 (x) S 1", &stat("x", 1).replace(" 4711", " -4711")] {
            assert_eq!(Process::parse(bad), None, "{bad}");
        }
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(Process::parse(&own).is_some(), "{own}");
    }
}
