//! Ports, routers and counters for tests.

use std::time::{Duration, SystemTime};

use ringway::{Counters, DropReason};
use ringway_router::kernel::Outcome;
use ringway_watch::ports::{Key, Port, Process, Reading, Ring, Side};

use super::routers::Router;
use super::row::Look;

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

/// A look at so many seconds at an idle port `null:` and a router with a process, which forwarded and dropped so many packets.
pub(super) fn look(s: u64, forwarded: u64, dropped: u64) -> Look {
    let none = Counters::default();
    let counts = [(Outcome::Forwarded, forwarded), (Outcome::Local, 1), (Outcome::BadChecksum, dropped)];
    let router = Router {
        name: "r0".into(),
        pid: Some(77),
        owner: port("", 77, none, none).owner,
        members: vec!["eth0 by xdp".into(), "eth1 by tc".into()],
        counts: counts.into_iter().collect(),
    };
    let ports = Reading { time_ns: s * 1_000_000_000, ports: vec![port("null:", 1, none, none)] };
    Look { ports, routers: vec![router] }
}
