//! The ports that are open on this machine, with what their kernel halves count.

use crate::backend::ebpf::{add_map_counters, add_taken_counters};
use crate::backend::vale::add_port_counters;
use crate::count::{KernelCounters, OpenPort, Reader, listed};

const READERS: &[Reader] = &[
    (KernelCounters::Interface, add_map_counters),
    (KernelCounters::InterfaceTaken, add_taken_counters),
    (KernelCounters::SwitchPort, add_port_counters),
];

/// The ports that are open on this machine, as far as the caller may see them.
///
/// ```
/// let port = ringway::Port::open("null:")?;
/// let listed = ringway::open_ports();
/// # if std::fs::metadata("/run/ringway/ports").is_ok_and(|m| !m.permissions().readonly()) {
/// assert!(listed.iter().any(|p| p.name == "null:" && p.pid == std::process::id()));
/// # }
/// # Ok::<(), ringway::Error>(())
/// ```
#[must_use]
pub fn open_ports() -> Vec<OpenPort> {
    listed(READERS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{OpenOptions, Port};

    /// Without a place to share counters in there is nothing to look at.
    fn ports_are_listed() -> bool {
        let there = matches!(crate::count::make_directory("ports"), Some(Ok(_)));
        if !there {
            eprintln!("SKIPPED: the directory of open ports can't be made");
        }
        there
    }

    fn mine(name: &str) -> Option<OpenPort> {
        open_ports().into_iter().find(|p| p.name == name && p.pid == std::process::id())
    }

    #[test]
    fn rings_are_listed_with_their_fill() {
        if !ports_are_listed() {
            return;
        }
        let mut port = OpenOptions::new().slots(16).open("null:61").unwrap();
        assert!(port.tx[0].push(&[0; 60]) && port.tx[0].push(&[0; 60]));
        port.tx[0].sync().unwrap();
        port.tx[0].sync().unwrap();
        port.rx[0].sync().unwrap();
        let open = mine("null:61").unwrap();
        let (rx, tx) = (open.rx[0], open.tx[0]);
        assert_eq!((open.rx.len(), open.tx.len(), rx.slots, tx.slots), (1, 1, 16, 16));
        assert_eq!((rx.fill, tx.fill), (15, 0), "a source fills its ring, a sink empties it");
        assert_eq!((tx.counters.syncs, tx.counters.busy_syncs, tx.counters.frames_out), (2, 1, 2));
        assert_eq!(
            (rx.counters, tx.counters),
            (open.counters.rx, open.counters.tx),
            "one ring each: the sums"
        );
        assert_eq!((&open.backend, open.interface()), (&port.info().backend, None));
        assert!(open.opened.elapsed().unwrap() < Duration::from_secs(3600));
        drop(port);
        assert!(mine("null:61").is_none());
    }

    #[test]
    fn ports_of_one_name_are_told_apart() {
        if !ports_are_listed() {
            return;
        }
        let _both = [Port::open("null:62").unwrap(), Port::open("null:62").unwrap()];
        let listed = open_ports().into_iter().filter(|p| p.name == "null:62" && p.pid == std::process::id());
        let numbers: Vec<u32> = listed.map(|p| p.number).collect();
        assert!(numbers.len() == 2 && numbers[0] < numbers[1], "{numbers:?}");
    }

    #[test]
    fn a_ring_that_nobody_reads_is_full() {
        if !ports_are_listed() {
            return;
        }
        let (name, other) = (format!("pipe:fill{}{{1", std::process::id()), "}1");
        let mut a = OpenOptions::new().slots(8).open(&name).unwrap();
        let _b = Port::open(&name.replace("{1", other)).unwrap();
        for _ in 0..3 {
            while a.tx[0].push(&[0; 60]) {}
            a.tx[0].sync().unwrap();
        }
        assert_eq!(mine(&name).unwrap().tx[0].fill, 7, "seven frames wait behind the seven of the peer");
    }
}
