//! What a receiver gets is what the switch decided by: the header of a frame, and nothing behind it. Needs root; says so and passes
//! without.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::tests::{Stop, Temporary, frame, receive, send, sent_buffers, trunk};
use crate::switch::{Mirror, PortConf, StormLimits, VlanMode};
use crate::{DropReason, Port};
use ringway_wire::MacAddr;

const LIMIT: Duration = Duration::from_secs(120);

/// A frame to a station that nobody knows.
fn unknown(len: usize) -> Vec<u8> {
    let mut f = frame(None, len);
    f[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    f
}

/// A sender makes a broadcast of each frame and takes it back, over and over, while its port may send none.
fn changes_addresses(switch: &Temporary, bad: &mut Port, receivers: &mut [Port]) {
    let (region, words) = (bad.tx[0].region().clone(), sent_buffers(bad));
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Relaxed) {
                for (a, b) in [([0xff; 4], [0xff, 0xff, 2, 0]), ([2, 0, 0, 0], [0, 9, 2, 0])] {
                    for &at in &words {
                        region.shared().mem.u32(at).store(u32::from_ne_bytes(a), Relaxed);
                        region.shared().mem.u32(at + 4).store(u32::from_ne_bytes(b), Relaxed);
                    }
                }
            }
        });
        let _stop = Stop(&stop);
        let refused = || switch.stats()[0].counters.tx.drops(DropReason::Storm);
        let (before, start) = (refused(), Instant::now());
        let mut passed = vec![0; receivers.len()];
        while refused() - before < 5000 || passed.iter().any(|&n| n < 5000) {
            for n in 0..256 {
                assert!(bad.tx[0].push(&unknown([60, 2112][usize::from(n % 32 == 0)])));
            }
            bad.tx[0].sync().unwrap();
            for (port, passed) in receivers.iter_mut().zip(&mut passed) {
                let got = receive(port);
                *passed += got.len();
                assert!(got.iter().all(|f| f[..6] != [0xff; 6]), "a broadcast got through");
            }
            assert!(start.elapsed() < LIMIT, "{} refused, {passed:?} passed", refused() - before);
        }
    });
}

#[test]
fn an_address_that_changes_under_way_passes_no_storm_limit() {
    let modes = || [VlanMode::Transparent, VlanMode::Transparent, VlanMode::Transparent];
    let Some((switch, [mut bad, plain, mirror])) = Temporary::new(modes()) else { return };
    let storm = StormLimits { broadcast: Some(0), ..StormLimits::default() };
    switch.set_conf("p1", &PortConf { storm, ..PortConf::default() }).unwrap();
    let watched = Some(Mirror { to: "p3".into(), rx: true, tx: false });
    switch.set_conf("p2", &PortConf { mirror: watched, ..PortConf::default() }).unwrap();
    let mut receivers = [plain, mirror];
    changes_addresses(&switch, &mut bad, &mut receivers);
    // With VLANs: on with a tag, off without one.
    switch.set_conf("p1", &PortConf { storm, vlan: VlanMode::Access(5), ..PortConf::default() }).unwrap();
    switch.set_conf("p2", &PortConf { vlan: trunk(&[5], None), ..PortConf::default() }).unwrap();
    switch.set_conf("p3", &PortConf { vlan: VlanMode::Access(5), ..PortConf::default() }).unwrap();
    changes_addresses(&switch, &mut bad, &mut receivers);
}

/// A tag takes the room of a frame's last bytes, 1 to 3 of which go to a slot of their own.
#[test]
fn nothing_behind_a_frame_reaches_its_receiver() {
    const MARK: u8 = 0xa5;
    let modes = [VlanMode::Access(5), trunk(&[5], None)];
    let Some((_switch, [mut a, mut b])) = Temporary::new(modes) else { return };
    let (region, bufs) = (a.tx[0].region().clone(), sent_buffers(&mut a));
    for len in 2109..2112 {
        for &at in &bufs {
            region.shared().mem.u32(at + 2108).store(u32::from_ne_bytes([MARK; 4]), Relaxed);
        }
        let mut plain = frame(None, len);
        plain[14..].fill(1);
        send(&mut a, &[&plain], 0);
        let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
        assert!(receive(&mut b) == [tagged]);
        let theirs = b.rx[0].region().clone();
        let layout = &theirs.shared().layout;
        let words = (layout.buf(0)..layout.total).step_by(4);
        let marked = words.map(|at| theirs.shared().mem.u32(at).load(Relaxed));
        assert!(marked.flat_map(u32::to_ne_bytes).all(|byte| byte != MARK), "{len} bytes");
    }
}

/// The port that a sender names counts more than the table, but no frame goes to an address that is to get none.
#[test]
fn a_forced_port_opens_no_blackhole() {
    let modes = [VlanMode::Transparent, VlanMode::Transparent, VlanMode::Transparent];
    let Some((switch, [mut a, mut b, mut c])) = Temporary::new(modes) else { return };
    switch.fdb_set(MacAddr([2, 0, 0, 0, 0, 9]), 0, None).unwrap();
    switch.fdb_set(MacAddr([2, 0, 0, 0, 0, 8]), 0, Some("p2")).unwrap();
    let hole = unknown(60);
    let mut fixed = hole.clone();
    fixed[5] = 8;
    let storm = StormLimits { multicast: Some(0), ..StormLimits::default() };
    // By plain copies, then with a feature.
    for (round, conf) in (1..).zip([PortConf::default(), PortConf { storm, ..PortConf::default() }]) {
        switch.set_conf("p1", &conf).unwrap();
        for forced in [2, 3, 255, 77, 0] {
            send(&mut a, &[&hole], forced);
            send(&mut a, &[&hole, &[1; 20]], forced);
        }
        send(&mut a, &[&fixed], 3);
        send(&mut a, &[&fixed], 0);
        assert_eq!([receive(&mut b), receive(&mut c)], [[fixed.clone()], [fixed.clone()]]);
        let tx = switch.stats()[0].counters.tx;
        assert_eq!((tx.drops(DropReason::Blackhole), tx.frames_out), (10 * round, 2 * round), "{tx}");
        assert_eq!(tx.frames_in, 12 * round);
    }
}
