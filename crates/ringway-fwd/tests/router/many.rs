//! Captures and changed frames by the hundred thousand: both routers say the same of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ringway_fwd::router::generate::{Frames, Links};
use ringway_fwd::router::{BURST, Decision, DropReason, HostReason, Rpf};
use ringway_wire::pcapfile::Reader;

use crate::{LINKS, Pair};

/// Where captures are: `RINGWAY_DATA`.
fn data() -> Option<PathBuf> {
    let Some(root) = std::env::var_os("RINGWAY_DATA") else {
        eprintln!("SKIPPED: captures; RINGWAY_DATA names no folder with pcap/ in it");
        return None;
    };
    Some(Path::new(&root).join("pcap"))
}

/// All frames of all captures, as far as their bytes are there.
fn captures() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let folders = data().map(|root| [root.join("real"), root.join("hostile")]);
    for file in folders.iter().flatten().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let mut reader = Reader::open(file.unwrap().path()).unwrap();
        while let Some(Ok(record)) = reader.next() {
            frames.push(record.data.to_vec());
        }
    }
    assert!(folders.is_none() || frames.len() > 10_000, "{} frames", frames.len());
    frames
}

#[test]
fn captures_as_they_are_and_for_us() {
    let mut pair = Pair::new();
    let (mut seen, mut frames) = (BTreeMap::new(), captures());
    let some = !frames.is_empty();
    for ours in [false, true] {
        for position in 0..2 {
            if ours {
                let mac = pair.interfaces.get(position).mac;
                frames.iter_mut().filter(|f| f.len() >= 6).for_each(|f| f[..6].copy_from_slice(&mac));
            }
            for burst in frames.chunks(BURST) {
                pair.same(position, burst).iter().for_each(|d| *seen.entry(d.name()).or_insert(0) += 1);
            }
        }
    }
    println!("{seen:?}");
    assert!(!some || seen["forwarded"] > 1000 && seen["malformed"] > 10 && seen["options"] > 0, "{seen:?}");
    pair.counted();
}

/// `RINGWAY_FRAMES` frames, by default 300,000: bursts of all sizes, each filter in turn.
#[test]
fn changed_frames() {
    let count: usize = std::env::var("RINGWAY_FRAMES").map_or(300_000, |n| n.parse().unwrap());
    let mut pair = Pair::new();
    let mut seen = BTreeMap::new();
    let captures = captures();
    let mut sources = [LINKS.lan, LINKS.wan]
        .map(|link| Frames::new(u64::from(link) * 7919, Links::mac(link), captures.clone()));
    let (mut done, mut turn) = (0, 0);
    while done < count {
        let filters = [Rpf::Off, Rpf::Loose, Rpf::Strict, Rpf::Off];
        pair.filter(filters[turn / 2 % 4], filters[turn / 8 % 4]);
        let (position, size) = (turn % 2, 1 + turn * 31 % BURST);
        let burst: Vec<_> = (0..size).map(|_| sources[position].next_frame().to_vec()).collect();
        pair.same(position, &burst).iter().for_each(|d| *seen.entry(d.name()).or_insert(0) += 1);
        (done, turn) = (done + size, turn + 1);
    }
    println!("{done} frames: {seen:?}");
    pair.counted();
    // not the ones that depend on more than the frame
    let host = HostReason::ALL
        .into_iter()
        .filter(|w| ![HostReason::NotReady, HostReason::NotForwarding].contains(w));
    let drop = DropReason::ALL.into_iter().filter(|w| *w != DropReason::Budget);
    let names = host.map(HostReason::name).chain(drop.map(DropReason::name)).chain(["forwarded"]);
    for name in names {
        assert!(seen.get(name).is_some_and(|n| *n * 2000 > done), "{name} in {seen:?}");
    }
}

#[test]
fn every_table_entry_is_reached() {
    let mut pair = Pair::new();
    let mut frames = Frames::new(3, Links::mac(LINKS.lan), Vec::new());
    let mut used = BTreeMap::new();
    for _ in 0..200 {
        let burst: Vec<_> = (0..BURST).map(|_| frames.next_frame().to_vec()).collect();
        for decision in pair.same(0, &burst) {
            if let Decision::Forward(to) = decision {
                *used.entry((to.next_hop, to.egress)).or_insert(0) += 1;
            }
        }
    }
    // of each family three neighbours of members, and one of them by a route with an MTU of its own
    assert_eq!(used.len(), 8, "{used:?}");
}
