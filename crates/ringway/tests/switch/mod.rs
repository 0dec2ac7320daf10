//! What the tests of switches share: a switch that goes away, frames, and what a program that uses ports does.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ringway::Port;
use ringway::switch::{Switch, SwitchPortStats, SwitchSpec};
use ringway_bpf::layout::switch::info;

/// A switch that is removed at the end, also of a test that fails.
pub(crate) struct Temporary(Option<Switch>);

impl Temporary {
    pub(crate) fn new(spec: &SwitchSpec) -> Option<Self> {
        is_root().then(|| Self(Some(Switch::create(&unused_name(), spec).unwrap())))
    }

    pub(crate) fn ports<const N: usize>(&self) -> [Port; N] {
        std::array::from_fn(|i| self.port(&format!("p{}", i + 1)))
    }

    pub(crate) fn port(&self, name: &str) -> Port {
        Port::open(&format!("{}:{name}", self.name())).unwrap()
    }
}

impl std::ops::Deref for Temporary {
    type Target = Switch;
    fn deref(&self) -> &Switch {
        self.0.as_ref().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let deleted = self.0.take().unwrap().delete();
        assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
    }
}

/// Whether there can be switches; says so if not.
pub(crate) fn is_root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if !root {
        eprintln!("SKIPPED: switches need root");
    }
    root
}

/// A name for a switch that no other test has.
pub(crate) fn unused_name() -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    format!("vale-{}-{}", std::process::id() % 100_000, SERIAL.fetch_add(1, Relaxed))
}

/// Where a switch is pinned.
pub(crate) fn dir(name: &str) -> PathBuf {
    std::env::var_os("RINGWAY_BPFFS").map_or("/sys/fs/bpf/ringway".into(), PathBuf::from).join(name)
}

/// Has the switch give this number to the next port, if it is free: as if all others had been given since.
pub(crate) fn give_next(switch: &Switch, number: u8) {
    let info = MapHandle::from_pinned_path(dir(switch.name()).join("info")).unwrap();
    let mut value = info.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    value[info::LATEST] = number - 1;
    info.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY).unwrap();
}

/// A frame from station `from` to station `to`, which is all when 0.
pub(crate) fn frame(to: u8, from: u8, len: usize, fill: u8) -> Vec<u8> {
    let mut f = vec![fill; len];
    f[..6].copy_from_slice(&if to == 0 { [0xff; 6] } else { [2, 0, 0, 0, 0, to] });
    f[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    f
}

pub(crate) fn send(port: &mut Port, frames: &[Vec<u8>]) {
    for f in frames {
        assert!(port.tx[0].push(f));
    }
    port.tx[0].sync().unwrap();
}

/// Takes all frames that are there, and gives their slots back.
pub(crate) fn receive(port: &mut Port) -> Vec<Vec<u8>> {
    port.rx[0].sync().unwrap();
    let whole = |f: ringway::RxFrame<'_>| {
        let mut v = vec![0; f.len()];
        f.copy_to(&mut v);
        v
    };
    let frames = port.rx[0].burst(u32::MAX).map(whole).collect();
    port.rx[0].sync().unwrap();
    frames
}

/// Puts a frame over slots of the given lengths into the ring, each with these flags; does not sync.
pub(crate) fn push_parts(port: &mut Port, parts: &[usize], frame: &[u8], flags: u16) {
    let mut burst = port.tx[0].burst();
    let mut at = 0;
    for (i, &len) in parts.iter().enumerate() {
        let mut slot = burst.next_slot().unwrap();
        slot.buf()[..len].copy_from_slice(&frame[at..at + len]);
        let more = if i + 1 < parts.len() { ringway::layout::NS_MOREFRAG } else { 0 };
        slot.set_flags(flags | more);
        slot.send(len);
        at += len;
    }
    assert_eq!(at, frame.len());
}

/// Fails unless the accounts of a switch at rest close: every frame and copy that went in went out or was dropped by name.
#[track_caller]
pub(crate) fn assert_closed(switch: &Switch) -> Vec<SwitchPortStats> {
    let all = switch.stats();
    for s in &all {
        for c in [&s.counters.tx, &s.counters.rx] {
            assert_eq!(c.frames_in, c.frames_out + c.dropped(), "{}: {c}", s.port.name);
        }
    }
    let copies: u64 = all.iter().map(|s| s.copies).sum();
    assert_eq!(copies, all.iter().map(|s| s.counters.rx.frames_in).sum::<u64>(), "{all:?}");
    all
}
