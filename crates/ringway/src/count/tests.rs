//! Open ports as others see them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::entry::{MAGIC, MAX_RINGS, at, put_text, text};
use super::files::PORTS;
use super::listed::parse;
use super::{BLOCK, OpenPort, make_directory};
use crate::sys::mmap::Mmap;
use crate::{Port, open_ports};

fn mine(name: &str) -> Option<OpenPort> {
    open_ports().into_iter().find(|p| p.name == name && p.pid == std::process::id())
}

#[test]
fn rings_are_listed_with_their_fill() {
    // Without a place to share counters in there is nothing to look at.
    if !matches!(make_directory(PORTS), Some(Ok(_))) {
        return eprintln!("SKIPPED: the directory of open ports can't be made");
    }
    let mut port = crate::OpenOptions::new().slots(16).open("null:61").unwrap();
    assert!(port.tx[0].push(&[0; 60]) && port.tx[0].push(&[0; 60]));
    port.tx[0].sync().unwrap();
    port.tx[0].sync().unwrap();
    port.rx[0].sync().unwrap();
    let open = mine("null:61").unwrap();
    let (rx, tx) = (open.rx[0], open.tx[0]);
    assert_eq!((open.rx.len(), open.tx.len(), rx.slots, tx.slots), (1, 1, 16, 16));
    assert_eq!((rx.fill, tx.fill), (15, 0), "a source fills its ring, a sink empties it");
    assert_eq!((tx.counters.syncs, tx.counters.busy_syncs, tx.counters.frames_out), (2, 1, 2));
    assert_eq!((rx.counters, tx.counters), (open.counters.rx, open.counters.tx), "one ring each: the sums");
    assert_eq!((&open.backend, open.interface()), (&port.info().backend, None));
    assert!(open.opened.elapsed().unwrap() < Duration::from_secs(3600));
    drop(port);
    assert!(mine("null:61").is_none());
}

#[test]
fn ports_of_one_name_are_told_apart() {
    if !matches!(make_directory(PORTS), Some(Ok(_))) {
        return eprintln!("SKIPPED: the directory of open ports can't be made");
    }
    let _both = [Port::open("null:62").unwrap(), Port::open("null:62").unwrap()];
    let listed = open_ports().into_iter().filter(|p| p.name == "null:62" && p.pid == std::process::id());
    let numbers: Vec<u32> = listed.map(|p| p.number).collect();
    assert!(numbers.len() == 2 && numbers[0] < numbers[1], "{numbers:?}");
}

#[test]
fn more_rings_than_a_region_has_are_not_believed() {
    let len = at::HEADER + (MAX_RINGS as usize + 1) * BLOCK;
    let mem = Arc::new(Mmap::anonymous(len).unwrap());
    mem.u64(at::MAGIC).store(MAGIC, Relaxed);
    for (tx, rx, read) in [(1, 4095, true), (2, 4095, false), (u32::MAX, 2, false), (0, 0, true)] {
        mem.u32(at::TX_RINGS).store(tx, Relaxed);
        mem.u32(at::RX_RINGS).store(rx, Relaxed);
        assert_eq!(parse(&mem, len, 0, &[]).is_some(), read, "{tx} {rx}");
    }
}

#[test]
fn a_ring_that_nobody_reads_is_full() {
    if !matches!(make_directory(PORTS), Some(Ok(_))) {
        return eprintln!("SKIPPED: the directory of open ports can't be made");
    }
    let (name, other) = (format!("pipe:fill{}{{1", std::process::id()), "}1");
    let mut a = crate::OpenOptions::new().slots(8).open(&name).unwrap();
    let _b = Port::open(&name.replace("{1", other)).unwrap();
    for _ in 0..3 {
        while a.tx[0].push(&[0; 60]) {}
        a.tx[0].sync().unwrap();
    }
    assert_eq!(mine(&name).unwrap().tx[0].fill, 7, "seven frames wait behind the seven of the peer");
}

#[test]
fn long_texts_are_cut_between_characters() {
    let mem = Mmap::anonymous(4096).unwrap();
    put_text(&mem, 0, 8, "abcdéfgh");
    assert_eq!(text(&mem, 0, 8), "abcdéf");
    put_text(&mem, 0, 8, "aaaaaaé");
    assert_eq!(text(&mem, 0, 8), "aaaaaa");
    put_text(&mem, 0, 8, "x");
    assert_eq!(text(&mem, 0, 8), "x");
}
