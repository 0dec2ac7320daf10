//! What counts the packets that completed a path: an interface, a port, a switch or a router.

use std::fs;
use std::str::FromStr;

use ringway::{PortName, open_ports};
use ringway_model::profile::Packets;
use ringway_router::kernel::Outcome;
use ringway_watch::{routers, switches};

use crate::errors;
use crate::failure::Failure;

/// A direction, as the counter's owner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Rx,
    Tx,
}

/// What counts packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counter {
    text: String,
    of: Of,
    side: Side,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    Interface(String),
    Port(String),
    Switch(String),
    Router(String),
}

impl FromStr for Counter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, side) = match text.rsplit_once(':') {
            Some((name, "rx")) => (name, Side::Rx),
            Some((name, "tx")) => (name, Side::Tx),
            _ => (text, Side::Tx),
        };
        let of = match name.split_once('=') {
            Some(("port", name)) => {
                Of::Port(name.parse::<PortName>().map_or_else(|_| name.to_owned(), |n| n.to_string()))
            }
            Some(("switch", name)) => Of::Switch(name.to_owned()),
            Some(("router", name)) => Of::Router(name.to_owned()),
            Some((other, _)) => {
                return Err(format!(
                    "{other}= is unknown; accepted: INTERFACE, port=, switch=, router=, then :rx or :tx"
                ));
            }
            None if name.is_empty() => return Err("a name is missing".to_owned()),
            None => Of::Interface(name.to_owned()),
        };
        Ok(Self { text: text.to_owned(), of, side })
    }
}

impl Counter {
    /// The count at the start. 0 where nobody counts yet, unless the owner `is_there`.
    pub(super) fn begin(&self, is_there: bool) -> Result<u64, Failure> {
        match self.read() {
            None if is_there => Err(self.uncounted()),
            count => Ok(count.unwrap_or(0)),
        }
    }

    /// Nobody counts, or not any more.
    pub(super) fn uncounted(&self) -> Failure {
        let what = "nobody counts there; name an interface of this network namespace, or a port, switch or router that you may read";
        Failure::Other(errors::counts::UNCOUNTED, format!("--packets {}: {what}", self.text))
    }

    /// The packets between two counts.
    pub(super) fn between(&self, before: u64, after: u64) -> Packets {
        Packets { count: after.saturating_sub(before), by: self.text.clone() }
    }

    /// The count of now; `None` when the owner is not there, or its counters can't be read.
    pub(super) fn read(&self) -> Option<u64> {
        let tx = self.side == Side::Tx;
        match &self.of {
            Of::Interface(name) => {
                interface(&fs::read_to_string("/proc/thread-self/net/dev").ok()?, name, tx)
            }
            Of::Port(name) => {
                let mine = open_ports().into_iter().filter(|p| p.name == *name);
                let counts: Vec<u64> = mine
                    .map(|p| if tx { p.counters.tx.frames_out } else { p.counters.rx.frames_out })
                    .collect();
                (!counts.is_empty()).then(|| counts.iter().sum())
            }
            Of::Switch(name) => {
                let found = switches::readable().into_iter().find(|s| s.name == *name)?;
                let sum = if tx { found.totals.rx.frames_out } else { found.totals.tx.frames_in };
                Some(sum)
            }
            Of::Router(name) => {
                let found = routers::readable().into_iter().find(|r| r.name == *name)?;
                let counts = routers::sum(&found.members);
                Some(if tx { counts.get(Outcome::Forwarded) } else { counts.frames_in() })
            }
        }
    }
}

/// A counter of /proc/net/dev: received packets are the second number of a line, sent ones the tenth.
fn interface(text: &str, name: &str, tx: bool) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(if tx { 9 } else { 1 })?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named() {
        let of = |text: &str| text.parse::<Counter>().map(|c| (c.of, c.side));
        assert_eq!(of("eth1"), Ok((Of::Interface("eth1".into()), Side::Tx)));
        assert_eq!(of("eth1:rx"), Ok((Of::Interface("eth1".into()), Side::Rx)));
        assert_eq!(of("port=ebpf:eth1:rx"), Ok((Of::Port("ebpf:eth1".into()), Side::Rx)));
        assert_eq!(of("switch=vale0"), Ok((Of::Switch("vale0".into()), Side::Tx)));
        assert!(of("").is_err() && of("disk=a").is_err_and(|e| e.contains("accepted")));
    }

    #[test]
    fn lines_of_interfaces() {
        let text = "Inter-|\n face |bytes\n  lo: 1 2 3 4 5 6 7 8 9 10 11\nveth: 1 22 3 4 5 6 7 8 9 100 11\n";
        assert_eq!(interface(text, "veth", true), Some(100));
        assert_eq!(interface(text, "veth", false), Some(22));
        assert_eq!(interface(text, "vet", true), None);
    }
}
