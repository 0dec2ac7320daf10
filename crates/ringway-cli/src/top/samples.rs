//! Ports and counters for tests.

use std::time::{Duration, SystemTime};

use ringway::{Counters, DropReason};
use ringway_watch::ports::{Key, Port, Process, Ring, Side};

/// Counters of frames that left, their bytes, syncs and busy syncs, and drops for want of room.
pub(super) fn counters(frames: u64, bytes: u64, syncs: (u64, u64), full: u64) -> Counters {
    let mut c = Counters::default();
    (c.frames_in, c.frames_out, c.bytes_out) = (frames + full, frames, bytes);
    (c.syncs, c.busy_syncs) = syncs;
    c.add_drops(DropReason::RingFull, full);
    c
}

/// A port with one ring a direction, which has been open for ages.
pub(super) fn port(name: &str, pid: u32, rx: Counters, tx: Counters) -> Port {
    let side = |counters, fill| Side { all: counters, rings: vec![Ring { counters, slots: 1024, fill }] };
    Port {
        key: Key { name: name.into(), pid, opened: SystemTime::UNIX_EPOCH + Duration::from_secs(5) },
        backend: "pipe: zero copy".into(),
        rx: side(rx, 12),
        tx: side(tx, 0),
        owner: Process::parse(
            "77 (forwarder) S 1 77 77 0 -1 4194560 9 8 7 6 0 3 2 1 20 0 1 0 4711 1000 50 max",
        ),
    }
}
