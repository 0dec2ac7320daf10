//! Wires that lose, repeat, delay and spoil frames.

use super::{Bed, stories};
use crate::code::Bundle;
use crate::content::random::SplitMix64;
use crate::shard::Failure;
use crate::transport::Settings;

const SECOND: u64 = 1_000_000_000;

/// Settings for a lossy wire: the end that closes first remembers the connection for as long as its peer may ask.
fn patient() -> Settings {
    Settings {
        min_rto: 10_000_000,
        initial_rto: 50_000_000,
        time_wait: 2 * SECOND,
        attempts: 12,
        ..Settings::default()
    }
}

/// Nothing is sent twice.
fn impatient() -> Settings {
    Settings { attempts: 1, ..Settings::default() }
}

/// Runs flows one after the other; `passes` says how often frame number n arrives, and may change it.
fn run(
    bundle: &Bundle,
    settings: Settings,
    flows: u64,
    mut passes: impl FnMut(u64, &mut [u8]) -> usize,
) -> Bed {
    let mut bed = Bed::new(bundle.clone(), settings);
    // Neighbours are known before the wire is bad.
    for _ in 0..16 {
        bed.start(0);
        bed.run(bed.now + SECOND, |_| 1);
    }
    let mut frame_number = 0;
    for _ in 0..flows {
        bed.start(0);
        bed.run(bed.now + 600 * SECOND, |frame| {
            frame_number += 1;
            passes(frame_number - 1, frame)
        });
    }
    bed.is_empty();
    bed
}

/// The share of flows that are complete at both ends, when nothing is sent twice.
fn share(bundle: &Bundle, flows: u64, mut passes: impl FnMut() -> bool) -> f64 {
    let mut bed = run(bundle, impatient(), 0, |_, _| 1);
    let mut complete = 0;
    for _ in 0..flows {
        let before = bed.shard.tally().flows[0].clone().map(|end| end.complete);
        bed.start(0);
        bed.run(bed.now + 600 * SECOND, |_| usize::from(passes()));
        let after = bed.shard.tally().flows[0].clone().map(|end| end.complete);
        complete += u64::from(after == before.map(|complete| complete + 1));
    }
    complete as f64 / flows as f64
}

/// Frames of a flow whose loss no later one makes good, when nothing is sent twice.
fn needed(bundle: &Bundle, frames: u64) -> i32 {
    let fails = |lost: u64| {
        let mut frame = 0..;
        share(bundle, 1, || frame.next() != Some(lost)) < 1.0
    };
    (0..frames).filter(|&lost| fails(lost)).count() as i32
}

#[test]
fn flows_end_as_often_as_no_needed_frame_is_lost() {
    let bundle = stories::ftp((1024, 1024));
    let needed = needed(&bundle, 28);
    assert!((20..=28).contains(&needed), "{needed}");
    for (p, seed) in [(0.001, 1), (0.003, 2), (0.01, 3)] {
        let mut random = SplitMix64(seed);
        let measured = share(&bundle, 30_000, || random.unit() >= p);
        let expected = (1.0_f64 - p).powi(needed);
        assert!((measured - expected).abs() < 0.003, "{p}: {measured} of {expected}, {needed} frames");
    }
}

#[test]
fn all_flows_end_in_order_when_lost_frames_are_sent_again() {
    let mut random = SplitMix64(5);
    let bed = run(&stories::ftp((1024, 1024)), patient(), 10_000, |_, _| usize::from(random.unit() >= 0.01));
    let [client, server] = &bed.shard.tally().flows[0];
    assert!(client.all_failed() + server.all_failed() <= 1, "{:?}", bed.shard.tally());
}

#[test]
fn spoilt_frames_are_found_out() {
    for bundle in [stories::ftp((0, 5000)), stories::http((0, 20_000)), stories::lookup()] {
        let mut random = SplitMix64(7);
        let bed = run(&bundle, patient(), 300, |_, frame| {
            if random.unit() < 0.05 {
                // Behind the Ethernet header, which has no checksum here.
                let at = 14 + random.below(frame.len() as u64 - 14) as usize;
                frame[at] ^= 1 << random.below(8);
            }
            1 + usize::from(random.unit() < 0.05)
        });
        let tally = bed.shard.tally();
        for end in &tally.flows[0] {
            let [_, reset, mismatch, ..] = end.failed;
            assert_eq!((reset, mismatch), (0, 0), "{tally:?}");
        }
    }
}

/// With few records some flows can't start or go on. Each of them has a reason, and all records are free afterwards.
#[test]
fn exhausted_records_are_a_reason() {
    let mut bed = Bed::with(stories::ftp((1024, 1024)), Settings::default(), 40, 1 << 16);
    let mut postponed = 0;
    for _ in 0..200 {
        postponed += u64::from(bed.try_start(0).is_err());
    }
    bed.run(600 * SECOND, |_| 1);
    let [client, server] = &bed.shard.tally().flows[0];
    assert_eq!(client.started + postponed, 200);
    assert!(postponed > 0 && client.all_failed() > 0, "{:?}", bed.shard.tally());
    for end in [client, server] {
        let others = [Failure::Mismatch, Failure::Check, Failure::Refused];
        assert!(others.iter().all(|&why| end.failed[why as usize] == 0), "{end:?}");
    }
    bed.is_empty();
}

/// A ring with a few slots: segments wait for one, and nothing is lost. The last acknowledgement of a connection waits, too.
#[test]
fn a_short_ring_loses_nothing() {
    let bundles = [stories::http((100_000, 100_000)), stories::http((64, 64)), stories::ftp((1024, 1024))];
    for (bundle, flows) in bundles.into_iter().zip([20, 200, 200]) {
        let mut bed = Bed::new(bundle, Settings::default());
        bed.cable.slots = Some(3);
        for _ in 0..flows {
            bed.start(0);
        }
        bed.run(600 * SECOND, |_| 1);
        let [client, server] = &bed.shard.tally().flows[0];
        assert_eq!((client.complete, server.complete), (flows, flows), "{:?}", bed.shard.tally());
        let tally = bed.shard.tally();
        assert_eq!((tally.strays, tally.retransmitted), (0, 0), "{tally:?}");
        bed.is_empty();
    }
}
