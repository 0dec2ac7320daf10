//! Segments that wait for a slot of a ring: they take turns, are not lost, and cost nothing while they wait.

use std::array::from_fn;
use std::collections::HashMap;

use super::{Bed, stories};
use crate::code::{Bundle, End};
use crate::run::example::bundle;
use crate::shard::Wire;
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;

/// A ring that is full on one side, and how often it was looked at.
struct OneWay {
    full: End,
    looks: u32,
}

impl Wire for OneWay {
    fn room(&mut self, side: End) -> usize {
        self.looks += 1;
        if side == self.full { 0 } else { 1000 }
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        assert_ne!(side, self.full, "a full ring");
        write(&mut [0; 2048]);
    }
}

/// A shard of a bundle. The neighbours of its first flow know each other.
fn known(bundle: Bundle) -> Bed {
    let mut bed = Bed::new(bundle, Settings::default());
    bed.start(0);
    bed.run(SECOND, |_| 1);
    bed
}

/// The address and the port of a segment's client.
fn client_of(frame: &[u8]) -> [u8; 6] {
    let end = |ip: usize, port: usize| from_fn(|at| frame[if at < 4 { ip + at } else { port + at - 4 }]);
    if frame[34..36] == [0, 80] { end(30, 36) } else { end(26, 34) }
}

/// Bytes of the segments of each flow.
fn bytes_by_flow(frames: &[(u64, Vec<u8>)]) -> HashMap<[u8; 6], usize> {
    let mut bytes = HashMap::new();
    for (_, frame) in frames.iter().filter(|(_, frame)| frame[12..14] == [8, 0]) {
        *bytes.entry(client_of(frame)).or_default() += frame.len();
    }
    bytes
}

/// Long flows over a short ring get on alike: none waits until another one is done.
#[test]
fn segments_take_turns() {
    let mut bed = Bed::new(stories::http((500_000, 500_000)), Settings::default());
    bed.cable.slots = Some(6);
    bed.cable.log = Some(Vec::new());
    for _ in 0..40 {
        bed.start(0);
    }
    bed.run(600 * SECOND, |_| 1);
    assert_eq!(bed.shard.tally().flows[0][0].complete, 40, "{:?}", bed.shard.tally());
    let frames = bed.cable.log.take().unwrap();
    let half = bytes_by_flow(&frames[..frames.len() / 2]);
    let (least, most) = (half.values().min().unwrap(), half.values().max().unwrap());
    assert_eq!(half.len(), 40);
    assert!(most / 2 < *least, "{least} to {most} bytes of each flow in half of the run");
    bed.is_empty();
}

/// However long a segment waits for its first slot, its connection does not take it for lost.
#[test]
fn what_never_left_is_not_sent_again() {
    let mut bed = known(stories::http((64, 64)));
    bed.cable.slots = Some(0);
    for _ in 0..100 {
        bed.start(0);
    }
    // Less than the story's own limit.
    for _ in 0..40 {
        bed.now += SECOND / 10;
        bed.shard.poll(bed.now, &mut bed.cable);
    }
    bed.cable.slots = None;
    bed.run(600 * SECOND, |_| 1);
    let tally = bed.shard.tally();
    assert_eq!((tally.flows[0][0].complete, tally.retransmitted), (101, 0), "{tally:?}");
    bed.is_empty();
}

/// A poll looks at what has a slot, not at all that waits: the other side has room all the time.
#[test]
fn what_waits_costs_nothing() {
    let mut bed = known(stories::http((64, 64)));
    let mut wire = OneWay { full: End::Client, looks: 0 };
    for _ in 0..2000 {
        bed.shard.start(0, bed.now, bed.now, &mut wire).unwrap();
    }
    wire.looks = 0;
    bed.shard.poll(bed.now, &mut wire);
    assert!(wire.looks < 20, "{} looks at rings for 2000 connections without a slot", wire.looks);
}

/// Datagrams without a slot wait in the same way, and are there once however often their program is woken.
#[test]
fn datagrams_wait_too() {
    let ask = "flow ask { udp c = inside -> outside : 53  timeout 60 s
        c > \"question\"
        c < \"answer\" }";
    let mut bed = known(bundle(ask));
    bed.cable.slots = Some(0);
    for _ in 0..500 {
        bed.start(0);
    }
    for id in (0..500).cycle().take(5000) {
        bed.shard.park(id);
    }
    assert!(bed.shard.parked[0].len() <= 2 * bed.shard.contexts.used() as usize + 1);
    bed.cable.slots = Some(8);
    bed.run(60 * SECOND, |_| 1);
    assert_eq!(bed.shard.tally().flows[0][0].complete, 501, "{:?}", bed.shard.tally());
    bed.is_empty();
}

/// Datagrams and segments that wait for the same slots take turns.
#[test]
fn datagrams_go_between_segments() {
    let both = "flow long { tcp c = inside -> outside : 80  timeout 60 s
        c < random(300 kB)
        c > close }
        flow ask { udp c = inside -> outside : 53  timeout 60 s
        c > \"question\"
        c < \"answer\" }";
    let mut bed = known(bundle(both));
    bed.cable.slots = Some(6);
    bed.cable.log = Some(Vec::new());
    for flow in [0, 1] {
        (0..40).for_each(|_| bed.start(flow));
    }
    bed.run(60 * SECOND, |_| 1);
    let frames = bed.cable.log.take().unwrap();
    let last = frames.iter().rposition(|(_, frame)| frame[23] == 17).unwrap();
    assert!(last < frames.len() / 2, "frame {last} of {} is the last datagram", frames.len());
    bed.is_empty();
}
