//! The counters of all open ports and the CPU time of their owners, read at one moment, and what changed since another one.

use std::collections::HashMap;
use std::fs;
use std::time::SystemTime;

use ringway::{Counters, OpenPort, OpenRing, open_ports, time::monotonic_ns};

use crate::printable;
use crate::rates::{Rates, dropped};

/// Ticks a second of the times in /proc/PID/stat: USER_HZ, which is 100 wherever Ringway runs.
const USER_HZ: f64 = 100.0;

/// All open ports at one moment.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// When, ns of the monotonic clock.
    pub time_ns: u64,
    /// In the order of their names.
    pub ports: Vec<Port>,
}

/// Tells a port from all others, also from one of the same name that the same process had open before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// What it was opened by, without control characters.
    pub name: String,
    /// The process that has it open.
    pub pid: u32,
    /// When it was opened.
    pub opened: SystemTime,
}

/// One open port.
#[derive(Debug, Clone)]
pub struct Port {
    /// Which port it is.
    pub key: Key,
    /// What serves it, in words.
    pub backend: String,
    /// What it receives.
    pub rx: Side,
    /// What it sends.
    pub tx: Side,
    /// The process; `None` when it can't be seen, such as that of another pid namespace.
    pub owner: Option<Process>,
}

/// One direction of a port.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// Of the direction as a whole.
    pub all: Counters,
    /// Its rings, by number.
    pub rings: Vec<Ring>,
}

/// One ring.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ring {
    /// Of this ring.
    pub counters: Counters,
    /// Its size; one slot stays unused.
    pub slots: u32,
    /// Slots in use after the last sync.
    pub fill: u32,
}

/// A process that has ports open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its name, without control characters.
    pub command: String,
    /// When it was started, in ticks since boot: tells it from another one with the same pid.
    started: u64,
    /// CPU time of all its threads, in ticks.
    ticks: u64,
}

impl Reading {
    /// The ports as they are now.
    #[must_use]
    pub fn now() -> Self {
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

    /// The same port in this reading.
    #[must_use]
    pub fn port(&self, key: &Key) -> Option<&Port> {
        self.ports.iter().find(|p| p.key == *key)
    }

    /// Seconds since `earlier`.
    #[must_use]
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        self.time_ns.saturating_sub(earlier.time_ns) as f64 / 1e9
    }
}

impl Port {
    /// Both directions in sum.
    #[must_use]
    pub fn both(&self) -> Counters {
        let mut sum = self.rx.all;
        sum.add(&self.tx.all);
        sum
    }

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
    #[must_use]
    pub fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let (_, command) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        let ticks = field(14)?.checked_add(field(15)?)?;
        Some(Self { command: printable(command), started: field(22)?, ticks })
    }

    /// CPU time used since `earlier`, in processors; `None` when that was another process.
    #[must_use]
    pub fn cpus_since(&self, earlier: &Self, seconds: f64) -> Option<f64> {
        let ticks = self.ticks.checked_sub(earlier.ticks)?;
        (self.started == earlier.started && seconds > 0.0).then(|| ticks as f64 / USER_HZ / seconds)
    }
}

/// What changed at a port between two readings.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The port now.
    pub port: &'a Port,
    /// The same port at the earlier reading.
    pub before: Option<&'a Port>,
    /// The same port when totals began to count.
    pub base: Option<&'a Port>,
    /// Between the two readings; 0 without an earlier one.
    pub seconds: f64,
    /// Rates of what it received; `None` at first sight.
    pub rx: Option<Rates>,
    /// Rates of what it sent.
    pub tx: Option<Rates>,
    /// Rates of both in sum.
    pub both: Option<Rates>,
    /// Processors that its process used.
    pub cpus: Option<f64>,
    /// Frames dropped since totals began to count.
    pub dropped: u64,
}

/// What changed at each port of `now` since `before`. Totals count from `base`; of ports that it lacks, from when they were opened.
#[must_use]
pub fn changes<'a>(now: &'a Reading, before: Option<&'a Reading>, base: &'a Reading) -> Vec<Change<'a>> {
    let seconds = before.map_or(0.0, |b| now.seconds_since(b));
    let change = |port: &'a Port| Change::of(port, before.and_then(|b| b.port(&port.key)), base, seconds);
    now.ports.iter().map(change).collect()
}

impl<'a> Change<'a> {
    fn of(port: &'a Port, before: Option<&'a Port>, base: &'a Reading, seconds: f64) -> Self {
        let base = base.port(&port.key);
        let rates = |of: fn(&Port) -> Counters| Rates::between(&of(before?), &of(port), seconds);
        let cpus = || port.owner.as_ref()?.cpus_since(before?.owner.as_ref()?, seconds);
        Self {
            port,
            before,
            base,
            seconds,
            rx: rates(|p| p.rx.all),
            tx: rates(|p| p.tx.all),
            both: rates(Port::both),
            cpus: cpus(),
            dropped: dropped(&base.map(Port::both).unwrap_or_default(), &port.both()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(command: &str, ticks: u64) -> String {
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
