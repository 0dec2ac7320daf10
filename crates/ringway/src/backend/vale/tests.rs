//! Slots as only a hostile or unusual client writes them, on ports with VLANs. Needs root; says so and passes without.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::abi::Slot;
use crate::abi::layout::NS_MOREFRAG;
use crate::switch::{PortConf, Switch, SwitchSpec, VlanMode};
use crate::{DropReason, Port};

pub(super) struct Temporary(Option<Switch>);

impl Temporary {
    /// A switch and a port with each of these VLANs.
    pub(super) fn new<const N: usize>(modes: [VlanMode; N]) -> Option<(Self, [Port; N])> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        if !std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0) {
            eprintln!("SKIPPED: switches need root");
            return None;
        }
        let name = format!("valeu{}-{}", std::process::id() % 100_000, SERIAL.fetch_add(1, Relaxed));
        let switch = Self(Some(Switch::create(&name, &SwitchSpec::default()).unwrap()));
        let mut i = 0;
        let ports = modes.map(|vlan| {
            i += 1;
            let port = Port::open(&format!("{name}:p{i}")).unwrap();
            switch.set_conf(&format!("p{i}"), &PortConf { vlan, ..PortConf::default() }).unwrap();
            port
        });
        Some((switch, ports))
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
        // A port that a failing test still has open goes away with it.
        if let Some(s) = self.0.take() {
            let _ = s.delete();
        }
    }
}

pub(super) fn trunk(allowed: &[u16], native: Option<u16>) -> VlanMode {
    VlanMode::Trunk { allowed: allowed.iter().copied().collect(), native }
}

pub(super) fn frame(tag: Option<u16>, len: usize) -> Vec<u8> {
    let mut f = vec![0xff; 6];
    f.extend([2, 0, 0, 0, 0, 1]);
    f.extend(tag.into_iter().flat_map(|t| [0x81, 0, (t >> 8) as u8, t as u8]));
    f.extend([8, 0]);
    f.extend((f.len()..len).map(|i| (i * 7) as u8));
    f.truncate(len);
    f
}

/// Sends one frame in parts, with the upper byte of all flags set to `forced`.
pub(super) fn send(port: &mut Port, parts: &[&[u8]], forced: u16) {
    let room = port.tx[0].room();
    let (view, mut at) = (room.view, room.at);
    for (k, part) in parts.iter().enumerate() {
        let more = if k + 1 < parts.len() { NS_MOREFRAG } else { 0 };
        let slot = Slot { len: part.len() as u16, flags: more | forced << 8, ..view.slot(at) };
        view.write(slot, part);
        view.set_slot(at, slot);
        at = view.next(at);
    }
    view.set_head(at);
    port.tx[0].sync().unwrap();
}

pub(super) fn receive(port: &mut Port) -> Vec<Vec<u8>> {
    port.rx[0].sync().unwrap();
    let mut frames = Vec::new();
    for f in port.rx[0].burst(u32::MAX) {
        let mut bytes = vec![0; f.len()];
        f.copy_to(&mut bytes);
        frames.push(bytes);
    }
    port.rx[0].sync().unwrap();
    frames
}

/// Cuts a frame after 14 or more bytes, then anywhere.
fn cut<'a>(frame: &'a [u8], first: usize, sizes: &[usize]) -> Vec<&'a [u8]> {
    let (head, mut rest) = frame.split_at(first.min(frame.len()));
    let mut parts = vec![head];
    for n in sizes.iter().cycle().take(70) {
        if rest.is_empty() {
            break;
        }
        let (part, more) = rest.split_at((*n).min(rest.len()));
        parts.push(part);
        rest = more;
    }
    parts
}

#[test]
fn frames_in_any_parts_get_and_lose_tags() {
    let Some((switch, ports)) = Temporary::new([VlanMode::Access(5), trunk(&[5], None)]) else { return };
    let ports = RefCell::new(ports);
    let first = prop_oneof![14usize..20, 2100usize..2113];
    let sizes = proptest::collection::vec(prop_oneof![0usize..20, 2000usize..2113], 1..5);
    let parts = (first, sizes.prop_filter("some bytes", |s| s.iter().sum::<usize>() > 0), 14usize..7000);
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(&parts, |(first, sizes, len)| {
        let [access, trunked] = &mut *ports.borrow_mut();
        let plain = frame(None, len);
        let parts = cut(&plain, first, &sizes);
        let whole = parts.iter().map(|p| p.len()).sum::<usize>() == len;
        prop_assume!(whole);
        send(access, &parts, 0);
        let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
        let got = receive(trunked);
        // A frame of 64 slots has none left for the tag.
        if parts.len() < 64 {
            prop_assert!(got == [tagged.clone()], "{} parts", parts.len());
        } else {
            prop_assert!(got.is_empty());
        }
        let parts = cut(&tagged, first, &sizes);
        prop_assume!(parts.iter().map(|p| p.len()).sum::<usize>() == len + 4);
        send(trunked, &parts, 0);
        let got = receive(access);
        if first < 18 || parts.len() > 64 {
            prop_assert!(got.is_empty());
        } else {
            prop_assert!(got == [plain], "{} parts", parts.len());
        }
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
    for s in switch.stats() {
        for c in [s.counters.tx, s.counters.rx] {
            assert_eq!(c.frames_in, c.frames_out + c.dropped());
        }
    }
}

#[test]
fn a_forced_port_must_belong_to_the_vlan() {
    let modes = [VlanMode::Access(5), VlanMode::Access(5), VlanMode::Access(6), VlanMode::Transparent];
    let Some((switch, [mut a, mut b, mut c, mut d])) = Temporary::new(modes) else { return };
    let f = frame(None, 60);
    for forced in [2, 3, 4, 77, 1, 255] {
        send(&mut a, &[&f], forced);
    }
    assert_eq!(receive(&mut b), [f.clone(), f]);
    assert!(receive(&mut c).is_empty() && receive(&mut d).is_empty());
    let tx = switch.stats()[0].counters.tx;
    let drops = |why| tx.drops(why);
    assert_eq!(
        (drops(DropReason::Vlan), drops(DropReason::NoDestination), drops(DropReason::SamePort)),
        (2, 1, 1)
    );
    assert_eq!((tx.frames_in, tx.frames_out), (6, 2));
}

/// Where the buffers of a port's tx ring are in its region.
pub(super) fn sent_buffers(port: &mut Port) -> Vec<usize> {
    let region = port.tx[0].region().clone();
    let room = port.tx[0].room();
    (0..room.view.num()).map(|i| region.shared().layout.buf(room.view.slot(i).buf)).collect()
}

/// Stops a thread, also when the test fails.
pub(super) struct Stop<'a>(pub(super) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What the switch decided by is what leaves, whatever the client makes of its buffers meanwhile.
#[test]
fn a_header_that_changes_under_way_reaches_no_other_vlan() {
    let modes = [trunk(&[5], None), trunk(&[5, 6], None), trunk(&[6], Some(5)), VlanMode::Access(6)];
    let Some((switch, [mut bad, mut tagged, mut native, mut other])) = Temporary::new(modes) else { return };
    let region = bad.tx[0].region().clone();
    let words = sent_buffers(&mut bad);
    let stop = AtomicBool::new(false);
    let word = |bytes: [u8; 4]| u32::from_ne_bytes(bytes);
    let good = (word([0x81, 0, 0, 5]), word([8, 0, 1, 2]));
    let evil = (word([0x81, 0, 0, 6]), word([0x81, 0, 0, 6]));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Relaxed) {
                for (a, b) in [evil, good] {
                    for &at in &words {
                        region.shared().mem.u32(at + 12).store(a, Relaxed);
                        region.shared().mem.u32(at + 16).store(b, Relaxed);
                    }
                }
            }
        });
        let _stop = Stop(&stop);
        let mut passed = 0;
        // Frames that are refused show that both sides ran at once.
        let refused = || switch.stats()[0].counters.tx.drops(DropReason::Vlan);
        let end = Instant::now() + Duration::from_secs(30);
        while refused() < 20_000 && Instant::now() < end {
            for _ in 0..256 {
                assert!(bad.tx[0].push(&frame(Some(5), 80)));
            }
            bad.tx[0].sync().unwrap();
            for f in receive(&mut tagged) {
                assert_eq!(f[12..16], [0x81, 0, 0, 5]);
                assert_ne!(f[16..18], [0x81, 0]);
                passed += 1;
            }
            for f in receive(&mut native) {
                assert_ne!(f[12..14], [0x81, 0]);
            }
            assert!(receive(&mut other).is_empty());
        }
        assert!(passed > 0 && refused() > 0);
    });
}
