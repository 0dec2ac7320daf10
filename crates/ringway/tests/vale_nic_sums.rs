//! Checksums that hosts leave to their interfaces, in frames from a NIC of a switch to others. Needs root; says so and passes
//! without.
//!
//! Objective: what leaves by another NIC is finished, or lost by name; all else leaves as it came. The model is
//! `offload::finish_if_partial`, which virtual ports and other backends use.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::DropReason;
use ringway::switch::{PortConf, StormLimits, SwitchSpec};
use ringway_lab::Lab;
use ringway_lab::raw::{RawReceiver, RawSender};
use ringway_wire::checksum::Sum;
use ringway_wire::offload::finish_if_partial;

use support::members::{add, stats};
use support::switch::{Temporary, station};
use support::{LIMIT, Random, new_lab};

const FRAMES: u32 = 400;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A switch of NICs n1, n2 and n3, which are joined to wires w1, w2 and w3.
struct Bed {
    switch: Temporary,
    lab: Lab,
    wires: Vec<(RawSender, RawReceiver)>,
}

impl Bed {
    fn new() -> Option<Self> {
        let lab = new_lab()?;
        let switch = Temporary::new(&SwitchSpec::default())?;
        let wires = (1..=3).map(|i| {
            let [nic, wire] = [format!("n{i}"), format!("w{i}")];
            lab.veth(&nic, &wire).unwrap();
            lab.set_mtu([&nic, &wire], 9000).unwrap();
            lab.run_napi(&wire).unwrap();
            add(&lab, switch.name(), &nic, false).unwrap();
            (RawSender::open(&lab, &wire).unwrap(), RawReceiver::open(&lab, &wire).unwrap())
        });
        let wires = wires.collect();
        Some(Self { switch, lab, wires })
    }

    /// Sends a frame from the first wire; looks that these wires get `want`.
    fn pass(&mut self, frame: &[u8], to: &[usize], want: &[u8]) {
        self.wires[0].0.send(frame).unwrap();
        for wire in to {
            let got = self.wires[wire - 1].1.next(LIMIT).unwrap().expect("a frame arrives");
            let at = got.iter().zip(want).position(|(g, w)| g != w);
            assert!(
                got == want,
                "w{wire}, {} bytes of {} differ from {at:?} on: {got:02x?}; {frame:02x?} was sent",
                got.len(),
                want.len()
            );
        }
    }
}

/// A frame to station `to`, or all when 0, with a checksum as a host's stack leaves it.
fn unfinished(to: u8, random: &mut Random, payload: usize) -> Vec<u8> {
    let mut f = if to == 0 { vec![0xff; 6] } else { station(to).to_vec() };
    f.extend(station(1));
    if random.below(3) == 0 {
        f.extend([0x81, 0, 0, 7]);
    }
    let proto = [TCP, UDP][random.below(2) as usize];
    let header = if proto == TCP { 20 } else { 8 };
    let len = (header + payload) as u16;
    let addresses: Vec<u8> = (0..32).map(|_| random.next() as u8).collect();
    let addresses = if random.below(2) == 0 {
        let options = 4 * random.below(3) as u16;
        f.extend([8, 0, 0x45 + options as u8 / 4, 0]);
        f.extend((20 + options + len).to_be_bytes());
        f.extend([0, 0, 0x40, 0, 64, proto, 0, 0]);
        f.extend(&addresses[..8]);
        f.extend(vec![1; options.into()]);
        &addresses[..8]
    } else {
        f.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        f.extend(len.to_be_bytes());
        f.extend([proto, 64]);
        f.extend(&addresses);
        &addresses[..]
    };
    let pseudo = Sum::new().add_bytes(addresses).add_bytes(&[0, proto]).add_bytes(&len.to_be_bytes());
    let start = f.len();
    f.extend((0..len).map(|_| random.next() as u8));
    if proto == TCP {
        f[start + 12] = 0x50; // no options
    } else {
        f[start + 4..start + 6].copy_from_slice(&len.to_be_bytes());
    }
    let at = start + if proto == TCP { 16 } else { 6 };
    f[at..at + 2].copy_from_slice(&(!pseudo.checksum()).to_be_bytes());
    f
}

/// Unfinished frames, some padded, some fragments, and some with another number in the field.
fn any(to: u8, random: &mut Random) -> Vec<u8> {
    let payload = random.below(1400) as usize;
    let mut f = unfinished(to, random, payload);
    match random.below(6) {
        0 => f.extend([9; 7]),
        1 => {
            let at = f.len() - 1;
            f[at - random.below(40).min(at as u64 - 20) as usize] ^= 1;
        }
        _ => {}
    }
    f
}

fn finished(frame: &[u8]) -> Vec<u8> {
    let mut f = frame.to_vec();
    finish_if_partial(&mut f);
    f
}

/// Frames to one NIC and to all; `conf` is that of each port.
fn check(conf: &PortConf, seed: u64) {
    let Some(mut bed) = Bed::new() else { return };
    ["n1", "n2", "n3"].iter().for_each(|n| bed.switch.set_conf(n, conf).unwrap());
    bed.wires[1].0.send(&[&station(9)[..], &station(2), &[0x88, 0xb5], &[0; 46]].concat()).unwrap();
    for wire in [0, 2] {
        assert_eq!(bed.wires[wire].1.next(LIMIT).unwrap().unwrap()[..6], station(9));
    }
    let (mut random, mut changed) = (Random(seed), 0);
    for n in 0..FRAMES {
        let (to, wires) = if n % 4 == 0 { (0, &[2, 3][..]) } else { (2, &[2][..]) };
        let frame = any(to, &mut random);
        let want = finished(&frame);
        changed += u32::from(want != frame);
        bed.pass(&frame, wires, &want);
        // As it is now, it is finished.
        bed.pass(&want, wires, &want);
    }
    assert!(changed > FRAMES / 2, "{changed} frames were unfinished");
    // In several pieces it can't be finished.
    let before = [stats(&bed.switch, "n1").counters.tx, stats(&bed.switch, "n2").counters.rx];
    let long = unfinished(2, &mut random, 8000);
    bed.wires[0].0.send(&long).unwrap();
    let probe = finished(&unfinished(2, &mut random, 100));
    bed.pass(&probe, &[2], &probe);
    let after = [stats(&bed.switch, "n1").counters.tx, stats(&bed.switch, "n2").counters.rx];
    for (after, before) in after.iter().zip(before) {
        let lost = |c: &ringway::Counters| c.drops(DropReason::BadOffload);
        assert_eq!((lost(after), lost(&before)), (1, 0), "{after}");
        assert_eq!(after.frames_in, after.frames_out + after.dropped(), "{after}");
    }
    bed.pass(&finished(&long), &[2], &finished(&long));
    let all = bed.switch.totals(&bed.switch.stats());
    assert_eq!(all.copies, all.rx.frames_in);
    let _ = &bed.lab; // outlives the switch
}

#[test]
fn what_leaves_by_another_nic_is_finished() {
    check(&PortConf::default(), 1);
}

/// With a feature frames take another path (bpf/nic/with_rules.h).
#[test]
fn it_is_in_switches_with_features_too() {
    let storm = StormLimits { broadcast: Some(1_000_000), ..StormLimits::default() };
    check(&PortConf { storm, ..PortConf::default() }, 2);
}
