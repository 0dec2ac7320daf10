//! Super-frames that enter a switch by tc, for ports of programs. Needs root; says so and passes without.
//!
//! Objective: a program receives them as the frames that they stand for, as a wire would have
//! brought them. If it asks for that, it receives them whole, with a note of what is left to be
//! done. That holds for members by tc, for the host's side of an interface, and for taps, whose
//! users do not say how many frames there are. Segments without room are lost by name; all accounts
//! close.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use ringway::switch::{NicPath, PortConf, SwitchSpec, VlanMode};
use ringway::{DropReason, Gso, OpenOptions, Port};
use ringway_lab::{AnyError, Lab};
use ringway_wire::offload::{Offload, SegmentKind};

use support::bridge::Bridge;
use support::containers::{address, attach, received};
use support::members::{add, add_by, assert_closed, frame, send, stats};
use support::offload::{Sender, on_a_wire, unfinished, verify};
use support::switch::Temporary;
use support::tap::Tap;
use support::tcp::transfer;
use support::{eventually, new_lab, whole};

/// Payloads and sizes of segments.
const SIZES: [(usize, Option<u16>); 9] = [
    (1460, None),
    (1, Some(1)),
    (900, Some(300)),
    (1400, Some(1399)),
    (5000, Some(1440)),
    (60_000, Some(1440)),
    (60_000, Some(8000)),
    (12_000, Some(2112)),
    (65_000 - 18, Some(8900)),
];

/// Of the longest packets on links.
const JUMBO: u32 = 9000;

/// A host with eth0, whose other end n1 is a member of a switch, and port `p` of a program there, which has the address of the frames.
struct Net {
    p: Port,
    host: Lab,
    middle: Lab,
    switch: Temporary,
}

impl Net {
    fn new(spec: &SwitchSpec, gso: Gso) -> Option<Self> {
        let (host, middle, switch) = (new_lab()?, new_lab()?, Temporary::new(spec)?);
        attach(&host, &middle, 1, JUMBO);
        let options = OpenOptions::new().gso(gso);
        let mut p = options.open(&format!("{}:p", switch.name())).unwrap();
        add_by(&middle, switch.name(), "n1", NicPath::Tc).unwrap();
        settle(&mut p);
        Some(Self { p, host, middle, switch })
    }
}

/// Has the switch learn the address that frames go to.
fn settle(p: &mut Port) {
    send(p, &[frame(0, 2, 60, 1)]);
}

/// Frames from the sender of all test frames, `count` of them, and what is noted on each.
fn take(port: &mut Port, count: usize) -> Vec<(Vec<u8>, Option<Offload>)> {
    let mut got = Vec::new();
    eventually("frames arrive", || {
        port.rx[0].sync().unwrap();
        let all = port.rx[0].burst(u32::MAX).map(|f| (whole(&f), f.offload()));
        got.extend(all.filter(|(f, _)| f[6..12] == [2, 0, 0, 0, 0, 1]));
        port.rx[0].sync().unwrap(); // gives the slots back
        if got.len() >= count { Ok(()) } else { Err(format!("{} of {count}", got.len())) }
    });
    got
}

fn frames(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    take(port, count).into_iter().map(|(f, _)| f).collect()
}

/// Frames are long: only the first difference is shown.
#[track_caller]
fn assert_same(got: &[Vec<u8>], expected: &[Vec<u8>], case: &str) {
    let differs = |(i, (a, b)): (usize, (&Vec<u8>, &Vec<u8>))| {
        let at = a.iter().zip(b).position(|(a, b)| a != b);
        (a != b).then(|| format!("frame {i} of {} and {} bytes, at byte {at:?}", a.len(), b.len()))
    };
    let first = got.iter().zip(expected).enumerate().find_map(differs);
    assert_eq!((first, got.len()), (None, expected.len()), "{case}");
}

/// What a wire would bring, whichever sender it is.
fn arrives_as_from_a_wire(p: &mut Port, kinds: &[SegmentKind], mut send: impl FnMut(&[u8], Offload)) {
    for &kind in kinds {
        for tagged in [false, true] {
            for (payload, size) in SIZES {
                let (frame, offload) = unfinished(kind, tagged, payload, size);
                let expected = on_a_wire(&frame, &offload);
                expected.iter().for_each(|f| verify(f));
                send(&frame, offload);
                let got = frames(p, expected.len());
                assert_same(&got, &expected, &format!("{kind:?} {payload} {size:?}, tagged: {tagged}"));
            }
        }
    }
}

#[test]
fn those_of_a_container_arrive_as_the_frames_of_a_wire() {
    let Some(mut net) = Net::new(&SwitchSpec::default(), Gso::Segment) else { return };
    let sender = Sender::open(&net.host, "eth0");
    let kinds = sender.kinds();
    if kinds.len() > 2 {
        frames(&mut net.p, 2); // those that were tried
    }
    arrives_as_from_a_wire(&mut net.p, &kinds, |frame, offload| sender.send(frame, offload));
    let crossed = stats(&net.switch, "n1").counters.tx;
    assert_eq!(crossed.dropped(), 0, "{crossed}");
    assert_closed(&net.switch);
}

#[test]
fn those_of_a_host_arrive_as_the_frames_of_a_wire() {
    let (Some(host), Some(middle)) = (new_lab(), new_lab()) else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    attach(&host, &middle, 1, JUMBO);
    host.run_napi("eth0").unwrap();
    middle.ip("link set n1 mtu 1500").unwrap();
    let mut p = switch.open("p");
    add(&middle, switch.name(), "n1", true).unwrap();
    settle(&mut p);
    let sender = Sender::open(&middle, "n1");
    let kinds = sender.kinds();
    if kinds.len() > 2 {
        frames(&mut p, 2);
    }
    for kind in kinds {
        for size in [300, 1440] {
            let (frame, offload) = unfinished(kind, false, 18_500, Some(size));
            let expected = on_a_wire(&frame, &offload);
            sender.send(&frame, offload);
            assert_same(&frames(&mut p, expected.len()), &expected, &format!("{kind:?} {size}"));
        }
    }
    assert_closed(&switch);
}

/// The kernel did not count the frames of such a super-frame yet.
#[test]
fn those_of_a_taps_user_are_counted_right() {
    let Some(middle) = new_lab() else { return };
    let Some(switch) = Temporary::new(&SwitchSpec::default()) else { return };
    let mut tap = Tap::new(&middle, "t1");
    let mut p = switch.open("p");
    add_by(&middle, switch.name(), "t1", NicPath::Tc).unwrap();
    settle(&mut p);
    let tcp = [SegmentKind::Tcp4, SegmentKind::Tcp6];
    arrives_as_from_a_wire(&mut p, &tcp, |frame, offload| tap.send(frame, offload));
    assert_closed(&switch);
    // With features frames go by the crossing, where the kernel cuts them.
    for port in ["p", "t1"] {
        let conf = PortConf { vlan: VlanMode::Access(5), ..PortConf::default() };
        switch.set_conf(port, &conf).unwrap();
    }
    settle(&mut p);
    for (payload, size) in [(2880, 1440), (2881, 1440), (60_000, 1440), (900, 300)] {
        let (frame, offload) = unfinished(SegmentKind::Tcp4, false, payload, Some(size));
        let expected = on_a_wire(&frame, &offload);
        tap.send(&frame, offload);
        assert_same(&frames(&mut p, expected.len()), &expected, &format!("{payload} {size}"));
    }
    assert_closed(&switch);
    let t1 = stats(&switch, "t1").counters;
    assert_eq!((t1.tx.dropped(), t1.rx.dropped()), (0, 0), "tx {}; rx {}", t1.tx, t1.rx);
}

#[test]
fn segments_without_room_are_lost_and_those_before_them_are_not() {
    let spec = SwitchSpec { slots: 64, ..SwitchSpec::default() };
    let Some(mut net) = Net::new(&spec, Gso::Segment) else { return };
    let sender = Sender::open(&net.host, "eth0");
    // One slot for each segment; then two.
    for (size, fit) in [(300, 63), (2200, 32)] {
        let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 64_000, Some(size));
        let all = on_a_wire(&frame, &offload);
        let twice = [&all[..], &all[..]].concat();
        sender.send(&frame, offload);
        let second = sender.try_send(&frame, offload);
        assert_same(&frames(&mut net.p, fit), &twice[..fit], &format!("{size}: {second:?}"));
        let c = net.p.counters().rx;
        assert_eq!(c.frames_in, c.frames_out + c.drops(DropReason::RingFull), "{c}");
    }
    assert!(net.p.counters().rx.drops(DropReason::RingFull) >= 2 * 214 - 63);
    assert_closed(&net.switch);
}

/// TCP behind an extension header: the kernel cuts it.
#[test]
fn what_is_not_cut_here_arrives_cut_by_the_kernel() {
    let Some(mut net) = Net::new(&SwitchSpec::default(), Gso::Segment) else { return };
    let sender = Sender::open(&net.host, "eth0");
    let (mut frame, mut offload) = unfinished(SegmentKind::Tcp6, false, 30_000, Some(1400));
    frame.splice(54..54, [6, 0, 1, 4, 0, 0, 0, 0]);
    frame[20] = 60; // destination options
    let length = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    offload = offload.moved(8);
    sender.send(&frame, offload);
    let got = frames(&mut net.p, 22);
    assert_eq!(got.iter().map(|f| f.len() - 82).sum::<usize>(), 30_000);
    assert_closed(&net.switch);
}

#[test]
fn a_port_that_carries_them_gets_them_whole_with_a_note() {
    let Some(mut net) = Net::new(&SwitchSpec::default(), Gso::Carry) else { return };
    let sender = Sender::open(&net.host, "eth0");
    let kinds = sender.kinds();
    if kinds.len() > 2 {
        frames(&mut net.p, 1);
    }
    for kind in kinds {
        for tagged in [false, true] {
            for (payload, size) in
                SIZES.into_iter().filter(|(payload, size)| size.is_some_and(|s| *payload > s.into()))
            {
                let (frame, offload) = unfinished(kind, tagged, payload, size);
                sender.send(&frame, offload);
                let (got, notes): (Vec<_>, Vec<_>) = take(&mut net.p, 1).into_iter().unzip();
                let case = format!("{kind:?} {payload} {size:?}, tagged: {tagged}");
                assert_eq!(notes, [Some(offload)], "{case}");
                assert_same(&got, &[frame], &case);
            }
        }
    }
    // Others are finished, and who opens the port next gets super-frames cut again.
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 1000, None);
    sender.send(&frame, offload);
    assert_same(&frames(&mut net.p, 1), &on_a_wire(&frame, &offload), "finished");
    assert_closed(&net.switch);
    let name = format!("{}:p", net.switch.name());
    let Net { middle: _middle, switch, p, .. } = net;
    drop(p);
    let mut p = Port::open(&name).unwrap();
    settle(&mut p);
    let (frame, offload) = unfinished(SegmentKind::Tcp4, false, 3000, Some(1000));
    sender.send(&frame, offload);
    assert_same(&frames(&mut p, 3), &on_a_wire(&frame, &offload), "cut again");
    assert_closed(&switch);
}

/// From a container by a switch and a bridge of its port to a host: super-frames arrive whole there.
#[test]
fn they_go_on_whole_to_a_port_that_takes_them() {
    let Some(net) = Net::new(&SwitchSpec::default(), Gso::Carry) else { return };
    let Some(far) = new_lab() else { return };
    attach(&far, &net.middle, 2, JUMBO);
    // From rings to interfaces a frame is in one piece.
    for host in [&net.host, &far] {
        host.ip("link set eth0 mtu 1500").unwrap();
    }
    let packet = net.middle.run(|| Ok::<_, AnyError>(Port::open("packet:n2")?)).unwrap();
    let mut bridge = Bridge::new(net.p, packet);
    bridge.during(
        || (),
        || {
            let before = received(&far, "eth0");
            transfer(&net.host, &far, address(2).into(), 20 << 20);
            let buffers = received(&far, "eth0") - before;
            assert!(buffers < (20 << 20) / 3000, "{buffers} buffers: super-frames were cut");
            transfer(&far, &net.host, address(1).into(), 5 << 20);
        },
    );
    drop(bridge);
    assert_closed(&net.switch);
}
