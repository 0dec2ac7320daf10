//! The books against a model that remembers every number.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

/// The obvious books: every number is remembered; the window only decides what is stale.
#[derive(Default)]
struct Model {
    seen: HashSet<u64>,
    highest: Option<u64>,
    counts: Received,
    times: Vec<u64>,
}

impl Model {
    fn frame(&mut self, seq: u64, at: u64) {
        self.counts.received += 1;
        let behind = self.highest.filter(|&highest| seq < highest);
        if self.highest.is_some_and(|highest| seq + WINDOW <= highest) {
            self.counts.stale += 1;
            return;
        }
        if !self.seen.insert(seq) {
            self.counts.duplicated += 1;
            return;
        }
        self.counts.reordered += u64::from(behind.is_some());
        self.counts.unique += 1;
        self.highest = self.highest.max(Some(seq));
        self.times.push(at);
    }

    fn last_missing(&self) -> Option<u64> {
        (0..self.highest?).rev().find(|n| !self.seen.contains(n))
    }

    fn gap(&self) -> u64 {
        self.times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0)
    }
}

fn compare(sequence: &[u64]) {
    let (mut ledger, mut model) = (Ledger::new(3, 1).with_latencies(), Model::default());
    for (k, &seq) in sequence.iter().enumerate() {
        let at = (k * k) as u64;
        ledger.frame(3, seq, at, 7);
        model.frame(seq, at);
    }
    assert_eq!(ledger.stream(3), model.counts);
    assert_eq!(ledger.last_missing(3), model.last_missing());
    assert_eq!(ledger.gap(3).ps, model.gap());
    assert_eq!(ledger.latencies(3).unwrap().summary().count, model.counts.unique);
}

#[test]
fn what_belongs_to_no_stream() {
    let mut ledger = Ledger::new(1, 2);
    ledger.span(1000, 100_000);
    ledger.frame(0, 0, 2000, 1000);
    ledger.frame(3, 0, 2000, 1000);
    ledger.frame(2, 0, 100_000, 1000);
    ledger.frame(2, 1, 100_001, 1000);
    ledger.frame(2, 7, 4999, 4000);
    ledger.frame(2, 1, 4000, 3000);
    ledger.frame(1, 0, 5000, -1000);
    ledger.foreign();
    ledger.corrupted();
    let expected = Received {
        received: 3,
        unique: 3,
        misdirected: 2,
        late: 1,
        stragglers: 1,
        foreign: 1,
        corrupted: 1,
        negative: 1,
        ..Received::default()
    };
    assert_eq!(ledger.total(), expected);
    assert_eq!((ledger.next(1), ledger.next(2), ledger.next(9)), (1, 2, 0));
}

#[test]
fn memory_is_bounded() {
    assert!(size_of::<Stream>() <= 1024);
}

#[test]
fn latencies_on_a_line() {
    let mut ledger = Ledger::new(0, 1).with_latencies();
    let a = Arrivals {
        stream: 0,
        first: 0,
        span: 1_000_001,
        received: 1_000_001,
        at_ps: (0, 9),
        latency_ps: (0, 1_000_000 * NS),
        gap_ps: 0,
        last_missing: None,
    };
    ledger.arrivals(&a);
    let s = ledger.latencies(0).unwrap().summary();
    assert_eq!(s.count, 1_000_001);
    for (found, expected) in
        [(s.p50_ns, 500_000), (s.p90_ns, 900_000), (s.p99_ns, 990_000), (s.max_ns, 1_000_000)]
    {
        assert!(found.abs_diff(expected) <= expected / 500, "{found} {expected}");
    }
    assert!((s.mean_ns - 500_000.0).abs() < 500.0 && s.min_ns < 500);
}

proptest! {
    /// Whenever a trial starts and the first frame leaves: its tag tells the nanosecond, its age is of whole ones.
    #[test]
    fn the_first_frame_is_no_straggler(start in 0u64..1 << 60, late in 0u64..3000, way in 0u64..3000) {
        let (sent, at) = (start + late, start + late + way);
        let mut ledger = Ledger::new(0, 1);
        ledger.span(start, u64::MAX);
        ledger.frame(0, 0, at, ((at / NS - sent / NS) * NS) as i64);
        prop_assert_eq!((ledger.total().unique, ledger.total().stragglers), (1, 0));
    }

    /// A stream through a bad network: each frame may be lost, doubled or delayed.
    #[test]
    fn agrees_with_the_model(fates in proptest::collection::vec((0u8..10, 0u64..40), 1..400), base in 0u64..3 * WINDOW) {
        let mut arrivals = Vec::new();
        for (seq, &(fate, delay)) in (base..).zip(&fates) {
            match fate {
                0 => {}
                1 => arrivals.extend([(seq, seq), (seq + delay, seq)]),
                2 => arrivals.push((seq + delay, seq)),
                _ => arrivals.push((seq, seq)),
            }
        }
        arrivals.sort_unstable();
        compare(&arrivals.into_iter().map(|(_, seq)| seq).collect::<Vec<_>>());
    }

    /// Wild jumps, many of them across the whole window.
    #[test]
    fn agrees_with_the_model_on_jumps(sequence in proptest::collection::vec(0u64..3 * WINDOW, 1..300)) {
        compare(&sequence);
    }

    #[test]
    fn agrees_with_the_model_near_the_edge(steps in proptest::collection::vec((0u64..9, 0u64..6), 1..300)) {
        let mut top = 2 * WINDOW;
        let sequence: Vec<_> = steps.iter().map(|&(kind, offset)| {
            if kind < 4 {
                top += 1 + offset * offset;
                return top;
            }
            top - if kind < 6 { offset } else { WINDOW - 3 + offset }
        }).collect();
        compare(&sequence);
    }

    /// Stretches told at once, those with holes followed by single frames, end in the same books as single frames.
    #[test]
    fn stretches_equal_single_frames(parts in proptest::collection::vec((1u64..2 * WINDOW, 0u64..3, 0u64..50), 1..6)) {
        let (mut whole, mut single) = (Ledger::new(0, 1).with_latencies(), Ledger::new(0, 1).with_latencies());
        let mut first = 0;
        for &(span, every, skip) in &parts {
            first += skip;
            let lost = |n: &u64| every > 0 && n.is_multiple_of(every + 1) && *n > first && *n + 1 < first + span;
            let got: Vec<u64> = (first..first + span).filter(|n| !lost(n)).collect();
            let at = |n: &u64| n * 10;
            got.iter().for_each(|n| single.frame(0, *n, at(n), 3000));
            let gap_ps = got.windows(2).map(|pair| at(&pair[1]) - at(&pair[0])).max().unwrap_or(0);
            whole.arrivals(&Arrivals {
                stream: 0, first, span, received: got.len() as u64, at_ps: (at(&got[0]), at(&got[got.len() - 1])), latency_ps: (3000, 3000), gap_ps,
                last_missing: (first..first + span).rfind(lost),
            });
            first += span;
        }
        prop_assert_eq!(whole.total(), single.total());
        prop_assert_eq!(whole.last_missing(0), single.last_missing(0));
        prop_assert_eq!((whole.gap(0).ps, whole.next(0)), (single.gap(0).ps, single.next(0)));
        prop_assert_eq!(whole.latencies(0).unwrap().summary(), single.latencies(0).unwrap().summary());
    }
}

proptest! {
    /// Frames whose place others take are counted apart, whichever of them come; all else is as if numbers had no such holes.
    #[test]
    fn marked_frames_are_neither_received_nor_missing(every in 2u64..9, came in proptest::collection::vec(any::<bool>(), 1..6000)) {
        let marks = Marks::every(every);
        let mut ledger = Ledger::new(0, 1).with_marks(marks.clone());
        let came: Vec<u64> = (0..).zip(came).filter(|(_, came)| *came).map(|(n, _)| n).collect();
        for &n in &came {
            ledger.frame(0, n, n, 0);
        }
        let (extra, test): (Vec<u64>, Vec<u64>) = came.iter().partition(|&&n| marks.contains(n));
        let got = ledger.stream(0);
        prop_assert_eq!((ledger.extra(), got.unique, got.reordered), (extra.len() as u64, test.len() as u64, 0));
        let next = test.last().map_or(0, |n| n + 1);
        prop_assert_eq!(ledger.next(0), next);
        let missing = (0..next).rev().find(|n| !marks.contains(*n) && !test.contains(n));
        prop_assert_eq!(ledger.last_missing(0), missing);
        prop_assert_eq!(ledger.accounted(), test.len() as u64 + marks.below(next));
    }
}
