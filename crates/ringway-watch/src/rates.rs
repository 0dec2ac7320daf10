//! Rates between two readings of the same counters.

use ringway::{Counters, DropReason};

/// Bytes of a frame on an Ethernet wire beyond those counted: FCS 4, preamble 8, gap 12 (IEEE 802.3, 3.1 and 4.4.2).
const WIRE_OVERHEAD: u64 = 24;

/// How much happened in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Frames that left a second: given to the program for rx, sent for tx.
    pub pps: f64,
    /// Their bits a second, without FCS.
    pub bps: f64,
    /// The same on the wire, with FCS, preamble and gap.
    pub wire_bps: f64,
    /// Frames dropped a second.
    pub drops: f64,
    /// Syncs a second.
    pub syncs: f64,
    /// Frames a sync.
    pub per_sync: f64,
    /// Share of syncs that moved something, 0 to 1.
    pub busy: f64,
}

impl Rates {
    /// What happened from one reading to another, `seconds` later; `None` when no time passed.
    #[must_use]
    pub fn between(from: &Counters, to: &Counters, seconds: f64) -> Option<Self> {
        if seconds <= 0.0 {
            return None;
        }
        let frames = grown(from.frames_out, to.frames_out) as f64;
        let bytes = grown(from.bytes_out, to.bytes_out) as f64;
        let syncs = grown(from.syncs, to.syncs) as f64;
        let busy = grown(from.busy_syncs, to.busy_syncs) as f64;
        Some(Self {
            pps: frames / seconds,
            bps: 8.0 * bytes / seconds,
            wire_bps: 8.0 * (bytes + WIRE_OVERHEAD as f64 * frames) / seconds,
            drops: dropped(from, to) as f64 / seconds,
            syncs: syncs / seconds,
            per_sync: ratio(frames, syncs),
            busy: ratio(busy, syncs).min(1.0),
        })
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// How much a counter grew, also over its end. One that went back a little, because a frame counted as delivered turned
/// out to be unusable, did not grow.
#[must_use]
pub fn grown(from: u64, to: u64) -> u64 {
    let n = to.wrapping_sub(from);
    if n > u64::MAX / 2 { 0 } else { n }
}

/// Frames dropped for each reason, in the order of [`DropReason::ALL`].
pub fn by_reason(from: &Counters, to: &Counters) -> impl Iterator<Item = (DropReason, u64)> {
    DropReason::ALL.into_iter().map(|d| (d, grown(from.drops(d), to.drops(d))))
}

/// Frames dropped for any reason.
#[must_use]
pub fn dropped(from: &Counters, to: &Counters) -> u64 {
    by_reason(from, to).map(|(_, n)| n).fold(0, u64::saturating_add)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counters with the most telling fields set.
    pub(crate) fn counters(frames: u64, bytes: u64, syncs: (u64, u64), full: u64) -> Counters {
        let mut c = Counters::default();
        (c.frames_in, c.frames_out, c.bytes_out) = (frames.wrapping_add(full), frames, bytes);
        (c.syncs, c.busy_syncs) = syncs;
        c.add_drops(DropReason::RingFull, full);
        c
    }

    #[test]
    fn line_rate_of_short_frames() {
        let (from, to) = (counters(7, 420, (1, 1), 0), counters(29_761_911, 1_785_714_660, (401, 301), 100));
        let r = Rates::between(&from, &to, 2.0).unwrap();
        assert_eq!((r.pps, r.drops, r.syncs, r.busy), (14_880_952.0, 50.0, 200.0, 0.75));
        assert!((r.wire_bps / 1e9 - 10.0).abs() < 0.001, "{r:?}");
        assert!((r.bps / r.wire_bps - 60.0 / 84.0).abs() < 1e-9);
        assert_eq!(Rates::between(&from, &to, 0.0), None);
        assert_eq!(Rates::between(&from, &from, 1.0), Some(Rates::default()));
    }

    proptest! {
        /// The rates show what was added, from any start.
        #[test]
        fn counters_may_wrap(
            start: [u64; 5], frames in 0u64..1 << 40, bytes in 0u64..1 << 44, syncs in 0u64..1 << 30,
            idle in 0u64..1 << 30, full in 0u64..1 << 40, ms in 1u64..100_000,
        ) {
            let at = |f: u64, b: u64, s: u64, busy: u64, d: u64| {
                let add = |k: usize, n: u64| start[k].wrapping_add(n);
                counters(add(0, f), add(1, b), (add(2, s), add(3, busy)), add(4, d))
            };
            let (from, to) = (at(0, 0, 0, 0, 0), at(frames, bytes, syncs + idle, syncs, full));
            let seconds = ms as f64 / 1000.0;
            let r = Rates::between(&from, &to, seconds).unwrap();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.max(1.0);
            prop_assert!(close(r.pps * seconds, frames as f64), "{r:?}");
            prop_assert!(close(r.bps * seconds, 8.0 * bytes as f64), "{r:?}");
            prop_assert!(close(r.wire_bps * seconds, 8.0 * (bytes + 24 * frames) as f64), "{r:?}");
            prop_assert!(close(r.drops * seconds, full as f64), "{r:?}");
            let taken = if syncs + idle > 0 { frames as f64 } else { 0.0 };
            prop_assert!(close(r.per_sync * (syncs + idle) as f64, taken));
            prop_assert!((0.0..=1.0).contains(&r.busy));
        }

        #[test]
        fn a_counter_that_went_back_did_not_grow(at: u64, back in 1u64..1 << 62) {
            prop_assert_eq!(grown(at, at.wrapping_sub(back)), 0);
            prop_assert_eq!(grown(at.wrapping_sub(back), at), back);
        }
    }
}
