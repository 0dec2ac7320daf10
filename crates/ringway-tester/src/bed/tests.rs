//! Trials over ports that need no privilege.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use proptest::prelude::*;
use ringway::{DropReason, Result};

use super::{RealTestBed, TestBedSpec};
use crate::device::{DeviceSpec, direction};
use crate::trial::bed::TestBed;
use crate::trial::fault::TesterFault;
use crate::trial::flow::{FlowOrder, Flows};
use crate::trial::format::Format;
use crate::trial::ledger::Ledger;
use crate::trial::loops::{Direction, VirtualClock, lock_step, threads};
use crate::trial::mix::Mix;
use crate::trial::pollers::Cpus;
use crate::trial::port::{Clock, RxPort, Train, TxPort};
use crate::trial::rate::{MICROSECOND, MILLISECOND, Rate};
use crate::trial::result::{Extra, TrialResult, Verdict};
use crate::trial::schedule::BURST;
use crate::trial::spec::TrialSpec;
use crate::trial::variant::{Modifier, Variant};

fn bed(tx: &str, rx: &str, virtual_time: bool, change: impl Fn(&mut TestBedSpec)) -> RealTestBed {
    let mut spec = TestBedSpec {
        ports: [tx.into(), rx.into()],
        format: Format::new(Flows::new(1, FlowOrder::Sequential, 1)),
        bidirectional: false,
        slots: None,
        cpus: Cpus::default(),
        virtual_time,
    };
    change(&mut spec);
    RealTestBed::open(&spec).unwrap()
}

fn burst(size: u32, frames: u64) -> TrialSpec {
    TrialSpec::burst(&Mix::fixed(size), Rate::line(1_000_000_000, size), frames, 10 * MILLISECOND)
}

fn run(bed: &mut RealTestBed, order: &TrialSpec) -> TrialResult {
    bed.run(order, &mut |_| true).unwrap()
}

#[test]
fn bursts_in_lock_step_are_exact_at_every_size() {
    for (ipv6, vlans) in [(false, vec![]), (true, vec![]), (false, vec![5]), (true, vec![5, 6])] {
        let change = |spec: &mut TestBedSpec| {
            (spec.format.ipv6, spec.format.vlans) = (ipv6, vlans.clone());
            spec.format.flows = Flows::new(1000, FlowOrder::Random, 3);
        };
        let mut bed = bed("loop:", "loop:", true, change);
        for size in [86, 128, 1518, 9000] {
            let trial = run(&mut bed, &burst(size, 2501));
            assert_eq!((trial.tx, trial.rx, trial.lost), (2501, 2501, 0), "{size} {trial:?}");
            assert_eq!((&trial.faults[..], trial.received.foreign), (&[][..], 0), "{size}");
        }
    }
}

/// What variants change is seen on the wire, and the counts stay exact; the plain frames come back afterwards.
#[test]
fn variants_in_lock_step_are_exact() {
    let mut bed = bed("loop:", "loop:", true, |_| ());
    let format = Format::new(Flows::new(1, FlowOrder::Sequential, 1));
    let variants = [
        (Variant::default(), None),
        (Variant::modified(Modifier::Broadcast, &format), Some(Extra { sent: 25, received: 25 })),
        (Variant::modified(Modifier::Protocols, &format), None),
        (Variant::flows(4096), None),
        (Variant::default(), None),
    ];
    for (variant, extra) in variants {
        let order = TrialSpec { variant: variant.clone(), ..burst(78, 2501) };
        let trial = run(&mut bed, &order);
        let test = 2501 - extra.map_or(0, |x| x.sent);
        assert_eq!(
            (trial.scheduled, trial.tx, trial.rx, trial.lost),
            (test, test, test, 0),
            "{variant} {trial:?}"
        );
        assert_eq!(
            (trial.extra, &trial.faults[..], trial.received.foreign),
            (extra, &[][..], 0),
            "{variant}"
        );
    }
    // Nobody is there to be asked.
    let query = Variant::modified(Modifier::Management([198, 18, 0, 1].into()), &format);
    let order = TrialSpec { variant: query, ..burst(78, 10) };
    assert!(bed.run(&order, &mut |_| true).unwrap_err().to_string().contains("queries need"));
}

/// Each kind of fault alone, against the account of the port that makes it.
#[test]
fn impairments_in_lock_step_are_counted_exactly() {
    for (fault, size) in [("drop=2%", 128), ("dup=3%", 64), ("corrupt=1%", 1518), ("reorder=2%,by=3", 256)] {
        let port = format!("fault:{fault},seed=5,dir=tx,port=loop:");
        let mut bed = bed(&port, &port, true, |_| ());
        let trial = run(&mut bed, &burst(size, 20_000));
        let (r, tx) = (trial.received, bed.counters().tx);
        assert_eq!((trial.tx, &trial.faults[..]), (20_000, &[][..]), "{fault}");
        let exact = |n: u64, expected: u64| n > 100 && n == expected;
        match &fault[..3] {
            "dro" => assert!(exact(trial.lost, tx.drops(DropReason::Injected)), "{trial:?} {tx:?}"),
            "dup" => {
                assert!(exact(r.duplicated, tx.frames_out - 20_000) && trial.lost == 0, "{trial:?} {tx:?}")
            }
            // What is changed in its Ethernet or IP header is foreign, or no loss at all.
            "cor" => assert!(exact(trial.lost, r.corrupted + r.foreign), "{trial:?}"),
            _ => assert!(trial.lost == 0 && r.reordered > 300 && r.duplicated == 0, "{trial:?}"),
        }
    }
}

#[test]
fn both_directions_of_a_pipe() {
    let name = format!("rfc{}", std::process::id());
    let mut bed =
        bed(&format!("pipe:{name}{{1"), &format!("pipe:{name}}}1"), true, |spec| spec.bidirectional = true);
    let trial = run(&mut bed, &burst(64, 3000));
    assert_eq!((trial.tx, trial.rx, trial.streams.len()), (6000, 6000, 2), "{trial:?}");
    assert!(trial.streams.iter().all(|s| s.lost == 0 && s.tx == 3000));
}

#[test]
fn ports_that_make_no_sense_are_refused() {
    let spec = |tx: &str, rx: &str| TestBedSpec {
        ports: [tx.into(), rx.into()],
        format: Format::new(Flows::new(1, FlowOrder::Sequential, 1)),
        bidirectional: false,
        slots: None,
        cpus: Cpus::default(),
        virtual_time: true,
    };
    let refused = |tx, rx| RealTestBed::open(&spec(tx, rx)).unwrap_err().to_string();
    assert!(refused("null:", "null:").contains("can't send to itself"));
    assert!(refused("nonsense", "loop:").contains("nonsense"));
}

#[test]
fn a_trial_in_real_time_counts_and_stamps() {
    let mut bed = bed("loop:", "loop:", false, |_| ());
    let order = TrialSpec::at(&Mix::fixed(64), Rate::new(20_000, 1), 50 * MILLISECOND, 10 * MILLISECOND)
        .with_latency();
    // On a busy machine a thread may not get to run in so short a time.
    let trial = (0..100).map(|_| run(&mut bed, &order)).find(|trial| trial.rx > 0).unwrap();
    assert_eq!(trial.scheduled, 1000);
    // More than is known to have left may come when the sender was held up at the very end.
    let excess = trial.faults.iter().any(|f| matches!(f, TesterFault::Excess { .. }));
    assert!(trial.tx == trial.rx + trial.lost || excess, "{trial:?}");
    assert_eq!(trial.received.negative, 0);
    assert!(trial.latency.count == trial.rx && trial.latency.min_ns > 0, "{trial:?}");
    // Disturbed or not, this is never a pass with frames missing.
    assert!(trial.verdict(0) != Verdict::Pass || trial.rx == 1000);
    // An interrupted one is no result.
    let trial = bed.run(&order, &mut |_| false).unwrap();
    assert!(trial.interrupted() && trial.verdict(1_000_000) == Verdict::Invalid);
}

/// A side that stands still once, when `at` has come: before it does its work, or behind it.
struct Lazy<P, C> {
    inner: P,
    clock: C,
    at_ps: u64,
    pause: Duration,
    before: bool,
    paused: bool,
}

impl<P, C: Clock> Lazy<P, C> {
    fn rest(&mut self, before: bool) {
        // A thread that the machine has held up beyond the moment is left alone.
        let late_ps = self.clock.now_ps().checked_sub(self.at_ps);
        if !self.paused && before == self.before && late_ps.is_some_and(|ps| ps < MILLISECOND) {
            self.paused = true;
            std::thread::sleep(self.pause);
        }
    }
}

impl<R: RxPort, C: Clock> RxPort for Lazy<R, C> {
    fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        self.rest(true);
        let frames = self.inner.poll(now_ps, ledger);
        self.rest(false);
        frames
    }

    fn capacity(&self) -> u64 {
        self.inner.capacity()
    }

    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}

impl<T: TxPort, C: Clock> TxPort for Lazy<T, C> {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        self.rest(true);
        let sent = self.inner.send(train);
        self.rest(false);
        sent
    }

    fn pending(&mut self) -> Result<u64> {
        self.inner.pending()
    }
}

/// Which thread is stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    Sender,
    Receiver,
}

/// A trial of 50 ms over a pipe of 1024 slots. From a moment `at_us` after the start on, a thread stands still. `None` when it did not
/// run at that moment.
fn stalled(which: Thread, pps: u64, at_us: u64, pause: Duration, before: bool) -> Option<TrialResult> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("stall{}n{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let bed = bed(&format!("pipe:{name}{{1"), &format!("pipe:{name}}}1"), false, |_| ());
    let (mut directions, clock) = bed.into_real_directions().unwrap();
    let Direction { tx, rx, stream } = directions.remove(0);
    // Threads are started 5 ms before.
    let hit = clock.now_ps() + (5000 + at_us) * MICROSECOND;
    let at = |thread| if which == thread { hit } else { u64::MAX };
    let tx = Lazy { inner: tx, clock, at_ps: at(Thread::Sender), pause, before, paused: false };
    let rx = Lazy { inner: rx, clock, at_ps: at(Thread::Receiver), pause, before, paused: false };
    let order = TrialSpec::at(&Mix::fixed(64), Rate::new(pps, 1), 50 * MILLISECOND, 5 * MILLISECOND);
    let mut directions = [Direction { tx, rx, stream }];
    let trial = threads(&mut directions, &order, &clock, &Cpus::default(), &mut |_| true).unwrap();
    (directions[0].tx.paused || directions[0].rx.paused).then_some(trial)
}

fn has(trial: &TrialResult, of: impl Fn(&TesterFault) -> bool) -> bool {
    trial.faults.iter().any(of)
}

const STALL: Duration = Duration::from_millis(5);

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    /// The receiver stands still for 5 ms at random, its ring lasts 3.4: every trial is invalid, whatever was lost.
    #[test]
    fn stalls_of_the_receiving_thread_are_always_noticed(at_us in 0u64..44_000, before: bool) {
        let Some(trial) = stalled(Thread::Receiver, 300_000, at_us, STALL, before) else { return Ok(()) };
        prop_assert_eq!(trial.verdict(1_000_000), Verdict::Invalid, "{:?}", trial);
        // Unless the sender was held up for so long that nothing was left to be lost.
        let known = has(&trial, |f| matches!(f, TesterFault::Short { .. } | TesterFault::Stalled { .. }));
        prop_assert!(known, "{:?}", trial.faults);
    }

    /// The sender stands still for 5 ms at random: 1500 frames are due meanwhile, 64 are made up for.
    #[test]
    fn stalls_of_the_sending_thread_are_always_noticed(at_us in 0u64..44_000, before: bool) {
        let Some(trial) = stalled(Thread::Sender, 300_000, at_us, STALL, before) else { return Ok(()) };
        prop_assert!(has(&trial, |f| matches!(f, TesterFault::Short { .. })), "{:?}", trial);
    }

    /// At 10,000 frames a second a sender makes up for the 50 that were due, and a ring has room for them.
    /// That alone is no fault, and the report says so.
    #[test]
    fn stalls_that_can_be_made_up_for_are_told(at_us in 0u64..44_000, before: bool, sender: bool) {
        let which = if sender { Thread::Sender } else { Thread::Receiver };
        let Some(trial) = stalled(which, 10_000, at_us, STALL, before) else { return Ok(()) };
        let pauses = if sender { &trial.tx_pauses } else { &trial.rx_pauses };
        prop_assert!(pauses.longest_ns >= 5_000_000, "{:?}", trial);
        // Unless the machine held the receiver up for longer than its ring lasts.
        let stood_still = has(&trial, |f| matches!(f, TesterFault::Stalled { .. }));
        prop_assert!(!stood_still || trial.rx_pauses.longest_ns > 100_000_000, "{:?}", trial);
        if trial.faults.is_empty() {
            prop_assert_eq!((trial.tx, trial.lost), (500, 0));
        }
    }
}

/// A thread that stands still when a trial ends, for longer than the wait for stragglers. What lies in the
/// ring is neither lost nor received, and what would leave late is not sent.
#[test]
fn stalls_at_the_end_are_noticed() {
    let long = Duration::from_millis(40);
    if let Some(trial) = stalled(Thread::Receiver, 10_000, 45_000, long, true) {
        assert_eq!(trial.verdict(1_000_000), Verdict::Invalid, "{trial:?}");
    }
    // The last frame of all is due after 49 ms.
    for (at_us, pause, pps) in
        [(45_000, 8, 10_000), (45_000, 40, 10_000), (48_500, 40, 1000), (48_500, 3, 1000)]
    {
        let Some(trial) = stalled(Thread::Sender, pps, at_us, Duration::from_millis(pause), true) else {
            continue;
        };
        assert!(trial.lost == 0 || !trial.faults.is_empty(), "{trial:?}");
        assert!(pause < 40 || trial.tx < trial.scheduled, "{trial:?}");
    }
}

/// A sender whose frames go nowhere for a while.
struct Blocked<T> {
    inner: T,
    until_ps: u64,
}

impl<T: TxPort> TxPort for Blocked<T> {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        if train.leaves_ps(0) < self.until_ps { Ok(0) } else { self.inner.send(train) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Under a virtual clock, at any rate and over a ring that loses what it can't hold. No trial with a loss
    /// that the pause made passes or fails, and a pause that the ring outlasts is no fault.
    #[test]
    fn a_pause_is_a_fault_when_the_ring_does_not_last(pps in 10_000u64..2_000_000, pause_us in 1u64..3000, slots in 64u64..2000) {
        let clock = VirtualClock::default();
        let mix = Mix::fixed(64);
        let Direction { tx, rx, stream } = direction(DeviceSpec::default().build(None), &mix, 0);
        let tx = Ahead { inner: tx, ahead_ps: Rate::new(pps, 1).offset_ps(8) };
        let rx = SmallRing { inner: rx, slots, next: 0, clock: clock.clone(), at_ps: 3 * MILLISECOND, pause_ps: pause_us * 1_000_000 };
        let order = TrialSpec::at(&mix, Rate::new(pps, 1), 10 * MILLISECOND, MILLISECOND);
        let trial = lock_step(&mut [Direction { tx, rx, stream }], &order, &clock, &mut |_| true).unwrap();
        let held = (pause_us * pps).div_ceil(1_000_000) + 16;
        if trial.lost > 0 {
            prop_assert_eq!(trial.verdict(1_000_000), Verdict::Invalid, "{:?}", trial);
        }
        if held + BURST < slots {
            prop_assert!(trial.faults.is_empty() && trial.lost == 0, "{:?}", trial.faults);
        }
    }

    /// A sender that is held up is short, unless it can catch up within 64 frames.
    #[test]
    fn a_sender_that_was_held_up_is_short(pps in 100_000u64..1_000_000, hold_us in 0u64..2000) {
        let bed = bed("loop:", "loop:", true, |_| ());
        let (mut directions, clock) = bed.into_virtual_directions().unwrap();
        let Direction { tx, rx, stream } = directions.remove(0);
        let tx = Blocked { inner: tx, until_ps: hold_us * 1_000_000 };
        let order = TrialSpec::burst(&Mix::fixed(64), Rate::new(pps, 1), 3000, MILLISECOND);
        let step = Rate::new(pps, 1).offset_ps(1);
        let mut directions = [Direction { tx: Stepped { inner: tx, clock: clock.clone(), step }, rx, stream }];
        let trial = lock_step(&mut directions, &order, &clock, &mut |_| true).unwrap();
        let behind = hold_us * pps / 1_000_000;
        prop_assert_eq!(trial.faults.is_empty(), trial.tx == 3000, "{:?}", trial.faults);
        if behind < 60 {
            prop_assert_eq!(trial.tx, 3000);
        } else if behind > 70 {
            prop_assert!(trial.tx + behind >= 3000 && trial.tx < 3000 && trial.only_short(), "{} {:?}", behind, trial.faults);
        }
    }
}

/// Moves the clock on by a step for each turn, as time does in a polling loop.
struct Stepped<T> {
    inner: T,
    clock: VirtualClock,
    step: u64,
}

impl<T: TxPort> TxPort for Stepped<T> {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        let sent = self.inner.send(train)?;
        self.clock.advance(self.step);
        Ok(sent)
    }
}

/// Lets frames be handed over only so far ahead.
struct Ahead<T> {
    inner: T,
    ahead_ps: u64,
}

impl<T: TxPort> TxPort for Ahead<T> {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        self.inner.send(train)
    }

    fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }
}

/// A receiver with a ring of a few slots, which stands still once. What the ring can't hold is lost; frames come in order.
struct SmallRing<R> {
    inner: R,
    slots: u64,
    next: u64,
    clock: VirtualClock,
    at_ps: u64,
    pause_ps: u64,
}

impl<R: RxPort> RxPort for SmallRing<R> {
    fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        let arrived = self.inner.poll(now_ps, &mut Ledger::new(0, 1))?;
        for seq in self.next..self.next + arrived.min(self.slots) {
            ledger.frame(0, seq, now_ps, 0);
        }
        self.next += arrived;
        if now_ps >= self.at_ps {
            self.clock.advance(std::mem::take(&mut self.pause_ps));
        }
        Ok(arrived)
    }

    fn capacity(&self) -> u64 {
        self.slots
    }
}
