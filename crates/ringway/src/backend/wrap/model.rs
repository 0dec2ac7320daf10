//! What a shadow ring of `fault:` does against a slow model.

use std::time::Duration;

use proptest::prelude::*;

use super::fault_rng::FaultRng;
use super::shadow_ring::{HOLD_NS, QUEUE_BYTES, ShadowRing};
use crate::abi::Slot;
use crate::abi::layout::NS_MOREFRAG;
use crate::count::Registration;
use crate::port::name::FaultOptions;
use crate::ring::{Lease, PortShape, RingView, Span};
use crate::{Counters, Direction, DropReason, Region, RegionSpec};

/// Two rings and what a test needs to play both sides of a shadow ring.
struct Bench {
    from: RingView,
    to: RingView,
    shadow: ShadowRing,
    registration: std::sync::Arc<Registration>,
    head: u32,
    filled: u32,
    tail: u32,
    read: u32,
    _leases: Vec<std::sync::Arc<Lease>>,
}

const SLOTS: u32 = 16;
const BUF: u32 = 64;

impl Bench {
    fn new(rates: &FaultOptions, one_region: bool) -> Self {
        let shape = PortShape { tx_rings: 1, rx_rings: 1, slots: SLOTS, host: false };
        let spec = RegionSpec { buf_size: BUF, ..shape.region(BUF) };
        let (a, b) = match one_region {
            true => {
                let r = Region::memfd(&spec).unwrap();
                (r.clone(), r)
            }
            false => (Region::memfd(&spec).unwrap(), Region::memfd(&spec).unwrap()),
        };
        let mut leases = vec![Lease::take(&a, "a", &shape).unwrap()];
        if !one_region {
            leases.push(Lease::take(&b, "b", &shape).unwrap());
        }
        let from = leases[0].views().next().unwrap();
        let to = leases.last().unwrap().views().nth(1).unwrap();
        let registration = Registration::new("shadow", 0, 1).unwrap();
        let shadow = ShadowRing::new(rates.clone(), 0, registration.rx(0));
        Self { from, to, shadow, registration, head: 0, filled: 0, tail: 0, read: 0, _leases: leases }
    }

    /// Puts a frame into the source ring; false when there is no room.
    fn fill(&mut self, frame: &[u8]) -> bool {
        let need = frame.len().div_ceil(BUF as usize).max(1);
        if need as u32 > SLOTS - 1 - self.from.dist(self.head, self.filled) {
            return false;
        }
        for k in 0..need {
            let part = &frame[k * BUF as usize..frame.len().min((k + 1) * BUF as usize)];
            let flags = if k + 1 < need { NS_MOREFRAG } else { 0 };
            let s = Slot { len: part.len() as u16, flags, ..self.from.slot(self.filled) };
            self.from.write(s, part);
            self.from.set_slot(self.filled, s);
            self.filled = self.from.next(self.filled);
        }
        true
    }

    /// Runs the shadow ring with `room` slots free; returns how many source slots it took.
    fn run(&mut self, now: u64, room: u32, last: bool) -> u32 {
        let mut src = Span { view: &self.from, at: self.head, end: self.filled };
        let end = crate::abi::cursor::add(self.tail, room, SLOTS);
        let mut dst = Span { view: &self.to, at: self.tail, end };
        self.shadow.run(&mut src, &mut dst, now, last);
        let took = self.from.dist(self.head, src.at);
        (self.head, self.tail) = (src.at, dst.at);
        took
    }

    fn drain(&mut self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while self.read != self.tail {
            let mut bytes = Vec::new();
            let (slots, good) = self.to.gather(self.read, self.tail, &mut bytes);
            assert!(good);
            self.read = crate::abi::cursor::add(self.read, slots, SLOTS);
            out.push(bytes);
        }
        out
    }

    fn counters(&self) -> Counters {
        self.registration.counters().rx
    }
}

/// What is expected of a stream, from the whole list of frames and times: slow and obvious.
#[derive(Default)]
struct Model {
    /// Time of release and bytes, in order.
    out: Vec<(u64, Vec<u8>)>,
    /// Number, deadline, and the copies of each frame held back.
    held: Vec<(u64, u64, Vec<Vec<u8>>)>,
    entered: u64,
    dropped: u64,
    doubled: u64,
}

impl Model {
    fn send(&mut self, frames: Vec<Vec<u8>>, now: u64, rates: &FaultOptions) {
        let due = now + rates.delay.as_nanos() as u64;
        self.out.extend(frames.into_iter().map(|f| (due, f)));
    }

    fn let_go(&mut self, now: u64, rates: &FaultOptions, which: impl Fn(u64, u64) -> bool) {
        let (go, stay) = self.held.drain(..).partition(|(number, deadline, _)| which(*number, *deadline));
        self.held = stay;
        for (_, _, frames) in go {
            self.send(frames, now, rates);
        }
    }

    fn frame(&mut self, frame: &[u8], now: u64, rates: &FaultOptions, rng: &mut FaultRng) {
        let number = self.entered;
        self.entered += 1;
        let throws: Vec<u64> = (0..5).map(|_| rng.next()).collect();
        let hit = |k: usize, rate: f64| ((throws[k] >> 11) as f64) < rate * (1u64 << 53) as f64;
        let mut frame = frame.to_vec();
        if hit(0, rates.drop) {
            self.dropped += 1;
        } else {
            if hit(3, rates.corrupt) && !frame.is_empty() {
                let bit = (throws[4] % (frame.len() as u64 * 8)) as usize;
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            let mut copies = vec![frame.clone()];
            if hit(1, rates.dup) {
                self.doubled += 1;
                copies.push(frame);
            }
            match hit(2, rates.reorder) {
                true => self.held.push((number, now + HOLD_NS, copies)),
                false => self.send(copies, now, rates),
            }
        }
        let by = u64::from(rates.by);
        self.let_go(now, rates, |n, _| n + by <= number);
    }
}

fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0f64..0.5]
}

prop_compose! {
    fn faults()(
        rates in prop::array::uniform4(rate()), by in 1u32..6, seed: u64,
        delay in prop_oneof![Just(0u64), 1u64..200_000_000],
    ) -> FaultOptions {
        let [drop, dup, reorder, corrupt] = rates;
        let delay = Duration::from_nanos(delay);
        FaultOptions { drop, dup, reorder, by, corrupt, delay, seed, dir: Direction::Both }
    }
}

/// Rounds of (time passed, lengths of new frames, free slots).
fn rounds() -> impl Strategy<Value = Vec<(u64, Vec<usize>, u32)>> {
    let len = prop_oneof![4 => 0usize..64, 1 => 64usize..300];
    prop::collection::vec((0u64..60_000_000, prop::collection::vec(len, 0..6), 0u32..SLOTS), 1..60)
}

proptest! {
    /// Whatever the rates, the batches and the room: what comes out is what the model says, in order, none before its
    /// time, and the counters add up.
    #[test]
    fn a_lane_does_what_the_model_predicts(rates in faults(), rounds in rounds(), one_region: bool) {
        let mut bench = Bench::new(&rates, one_region);
        let (mut model, mut rng) = (Model::default(), FaultRng::new(rates.seed, 0));
        let (mut now, mut serial, mut taken) = (0u64, 0u8, 0);
        let mut waiting = std::collections::VecDeque::new();
        let mut out = Vec::new();
        for (passed, lens, room) in rounds {
            now += passed;
            for len in lens {
                serial = serial.wrapping_add(1);
                let frame = vec![serial; len];
                if bench.fill(&frame) {
                    waiting.push_back(frame);
                }
            }
            let mut took = bench.run(now, room, false);
            model.let_go(now, &rates, |_, deadline| deadline <= now);
            while took > 0 {
                let frame: Vec<u8> = waiting.pop_front().unwrap();
                took -= frame.len().div_ceil(BUF as usize).max(1) as u32;
                taken += 1;
                model.frame(&frame, now, &rates, &mut rng);
            }
            out.extend(bench.drain().into_iter().map(|f| (now, f)));
            let next = bench.shadow.next_in(now).map(|ns| now + ns);
            let queued = model.out.get(out.len()).map(|(due, _)| *due);
            let held = model.held.first().map(|(_, deadline, _)| *deadline);
            let expected = queued.into_iter().chain(held).min().map(|t| t.max(now));
            prop_assert_eq!(next, expected);
        }
        // The source has ended; all that is left comes, in good time.
        for _ in 0..200 {
            let mut took = bench.run(now, SLOTS - 1, true);
            model.let_go(now, &rates, |_, deadline| deadline <= now);
            while took > 0 {
                let frame: Vec<u8> = waiting.pop_front().unwrap();
                took -= frame.len().div_ceil(BUF as usize).max(1) as u32;
                taken += 1;
                model.frame(&frame, now, &rates, &mut rng);
            }
            if bench.head == bench.filled {
                model.let_go(now, &rates, |_, _| true);
            }
            out.extend(bench.drain().into_iter().map(|f| (now, f)));
            now += 10_000_000;
        }
        prop_assert!(waiting.is_empty() && bench.shadow.is_empty());
        let bytes: Vec<&Vec<u8>> = out.iter().map(|(_, f)| f).collect();
        prop_assert_eq!(bytes, model.out.iter().map(|(_, f)| f).collect::<Vec<_>>());
        prop_assert!(out.iter().zip(&model.out).all(|((at, _), (due, _))| at >= due));
        let c = bench.counters();
        prop_assert_eq!(c.frames_in, taken + model.doubled);
        prop_assert_eq!(c.drops(DropReason::Injected), model.dropped);
        prop_assert_eq!((c.frames_out, c.frames_in), (out.len() as u64, c.frames_out + c.dropped()));
    }

    /// The same seed and the same frames: the same faults, whatever the batches.
    #[test]
    fn batches_change_nothing(rates in faults(), split in 1usize..15) {
        let rates = FaultOptions { delay: Duration::ZERO, ..rates };
        let run = |batch: usize| {
            let mut bench = Bench::new(&rates, true);
            let mut out = Vec::new();
            for n in 0..200u8 {
                assert!(bench.fill(&[n; 20]));
                if usize::from(n + 1).is_multiple_of(batch) {
                    while bench.head != bench.filled {
                        bench.run(0, SLOTS - 1, false);
                        out.extend(bench.drain());
                    }
                }
            }
            for _ in 0..40 {
                bench.run(0, SLOTS - 1, true);
                out.extend(bench.drain());
            }
            out
        };
        prop_assert_eq!(run(1), run(split));
    }
}

#[test]
fn bad_slots_are_dropped_by_name_and_block_nothing() {
    let mut bench = Bench::new(&FaultOptions::default(), true);
    for bad in [1, 2] {
        assert!((0..4).all(|n| bench.fill(&[n; 20])));
        let at = crate::abi::cursor::add(bench.head, bad, SLOTS);
        bench.from.set_slot(at, Slot { buf: u32::MAX, len: 20, flags: 0 });
        let last = crate::abi::cursor::add(bench.head, 3, SLOTS);
        let unfinished = Slot { flags: NS_MOREFRAG, ..bench.from.slot(last) };
        bench.from.set_slot(last, unfinished);
        bench.run(0, SLOTS - 1, false);
        assert_eq!(bench.drain().len(), 2);
        bench.from.set_slot(at, Slot { len: 0, flags: 0, ..unfinished });
    }
    let c = bench.counters();
    assert_eq!((c.frames_in, c.frames_out, c.drops(DropReason::BadSlot)), (8, 4, 4));
}

#[test]
fn delayed_frames_are_bounded_in_memory_and_counted_when_thrown_away() {
    let delay = Duration::from_secs(1);
    let mut bench = Bench::new(&FaultOptions { delay, ..FaultOptions::default() }, true);
    let mut taken = 0;
    loop {
        while bench.fill(&[0; 20]) {}
        match bench.run(0, 0, false) {
            0 => break,
            n => taken += n as usize,
        }
    }
    assert_eq!(taken, QUEUE_BYTES.div_ceil(20 + 64));
    assert_eq!(bench.run(999_999_999, SLOTS - 1, false), 0);
    assert!(bench.drain().is_empty());
    assert_eq!(bench.run(1_000_000_000, SLOTS - 1, false), SLOTS - 1);
    assert_eq!(bench.drain().len(), SLOTS as usize - 1);
    let registration = bench.registration.clone();
    drop(bench);
    super::tests::assert_balanced(&registration.counters().rx);
}
