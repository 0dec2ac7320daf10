//! One worker over ports: its shard and its plan, and its rings of each side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use ringway::{Error, RxFrame, RxRing, Waiter, Wakeable, time::monotonic_ns};

use crate::code::End;
use crate::shard::Shard;

use super::counted::Counted;
use super::counts::Counts;
use super::meter::Meter;
use super::plan::Plan;
use super::progress::{FlowNow, News, SECOND, TICK_NS};
use super::report::Ended;
use super::rings::{Bursts, Rings, split};
use super::steering::{Inbox, Steering};

/// Frames of a ring that a round takes, so that the time of a round is never old.
const BURST: u32 = 256;
/// Starts of a round.
const STARTS: u32 = 256;
/// The longest frame that a shard writes, and reads, with the tag of a VLAN.
pub(super) const FRAME: usize = 1518;
/// Longest sleep: a stop is noticed within this time.
const NAP_NS: u64 = 50_000_000;
/// The same where other workers pass frames on, which wakes nobody.
const STEERED_NAP_NS: u64 = 200_000;
/// A round that has something to do sooner looks at the rings instead of sleeping.
const SPIN_NS: u64 = 2_000_000;

/// What a worker hands over.
#[derive(Debug)]
pub(super) struct Outcome {
    /// When it ended, in ns of the run.
    pub(super) now: u64,
    pub(super) counted: Counted,
    /// Frames that other workers passed on to it, and that it never took.
    pub(super) inbox: Option<Inbox>,
}

/// Flows over the rings of ports.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) number: usize,
    pub(super) shard: Shard,
    pub(super) plan: Plan,
    pub(super) meter: Meter,
    pub(super) waiter: Waiter,
    pub(super) sides: [Option<Rings>; 2],
    /// `None`: each frame that comes is its own.
    pub(super) steering: Option<Steering>,
    /// The clock when the run began.
    pub(super) begun: u64,
    pub(super) until: u64,
    /// No other worker runs: it ends by itself.
    pub(super) is_alone: bool,
    pub(super) rounds: u64,
    pub(super) busy: u64,
}

impl Worker {
    /// Runs until `stop` is set. It is over before, when its plan is, and tells so; if it is alone it ends then.
    pub(super) fn run(mut self, stop: &AtomicBool, news: &Sender<News>) -> Result<Outcome, Error> {
        let (mut tick, mut over) = (0, None);
        loop {
            let now = monotonic_ns() - self.begun;
            self.meter.advance(now, self.shard.tally());
            let moved = self.round(now)?;
            self.meter.note_active(self.shard.tally());
            self.rounds += 1;
            self.busy += u64::from(moved);
            if now / TICK_NS > tick {
                let is_second = now / TICK_NS / SECOND > tick / SECOND;
                tick = now / TICK_NS;
                self.tell(now, is_second, news);
            }
            if over.is_none() {
                over = self.over(now);
                if let Some(ended) = over {
                    self.tell(now, true, news);
                    let _ = news.send(News::Over { worker: self.number, ended });
                }
            }
            if stop.load(Ordering::Relaxed) || self.is_alone && over.is_some() {
                return Ok(self.end(now));
            }
            if !moved {
                self.idle(now)?;
            }
        }
    }

    /// Takes what came, does what is due, sends what there is. Returns whether anything moved.
    fn round(&mut self, now: u64) -> Result<bool, Error> {
        self.sides.iter_mut().flatten().try_for_each(Rings::sync)?;
        let Self { sides, shard, steering, .. } = self;
        let mut moved = false;
        let (rings, mut wire) = split(sides);
        for (side, ring) in [End::Client, End::Server].into_iter().zip(rings) {
            for rx in ring {
                moved |= receive(side, rx, shard, steering.as_mut(), now, &mut wire);
            }
        }
        for _ in 0..BURST {
            let Some((side, frame)) = steering.as_mut().and_then(Steering::next) else { break };
            moved = true;
            shard.receive(side, &frame, now, &mut wire);
        }
        shard.poll(now, &mut wire);
        moved |= start(&mut self.plan, shard, now, &mut wire);
        drop(wire);
        self.sides.iter_mut().flatten().try_for_each(Rings::flush)?;
        Ok(moved)
    }

    /// Why nothing more happens here, or should.
    fn over(&self, now: u64) -> Option<Ended> {
        let tally = self.shard.tally();
        if now >= self.until {
            return Some(Ended::Limit);
        }
        // Of several workers none knows the sums.
        if let Some(stop) = self.plan.stopped(now, self.shard.bundle(), tally)
            && self.is_alone
        {
            return Some(Ended::Stop(stop));
        }
        // Servers don't know when clients elsewhere are done.
        let has_plan = self.sides[End::Client as usize].is_some();
        let active = || tally.flows.iter().any(|ends| ends[0].active + ends[1].active > 0);
        let over = now >= self.plan.over_ns() || now >= self.plan.end_ns() && !active();
        (has_plan && over).then_some(Ended::Plan)
    }

    /// Waits until a frame comes or something is due.
    fn idle(&mut self, now: u64) -> Result<(), Error> {
        let tally = self.shard.tally();
        let due = self.plan.next_ns(now, tally).into_iter().chain(self.shard.next_ns()).min();
        let most = if self.steering.is_some() { STEERED_NAP_NS } else { NAP_NS };
        let rest = due.map_or(NAP_NS, |due| due.saturating_sub(now));
        if rest < SPIN_NS {
            std::hint::spin_loop();
            return Ok(());
        }
        let rings = self.sides.iter_mut().flatten().flat_map(|side| side.rx.iter_mut());
        let mut rings: Vec<&mut dyn Wakeable> = rings.map(|ring| ring as &mut dyn Wakeable).collect();
        self.waiter.wait(&mut rings, Duration::from_nanos((rest - SPIN_NS / 2).min(most)))?;
        Ok(())
    }

    fn tell(&self, now: u64, with_flows: bool, news: &Sender<News>) {
        let (bundle, tally) = (self.shard.bundle(), self.shard.tally());
        let counts = Counts { rounds: self.rounds, busy: self.busy, ..Counts::of(bundle, tally) };
        let flows = if with_flows { FlowNow::all(tally) } else { Vec::new() };
        // Nobody listens any more where the run ends anyway.
        let _ = news.send(News::Tick { worker: self.number, tick: now / TICK_NS, now, counts, flows });
    }

    fn end(mut self, now: u64) -> Outcome {
        self.meter.end(now, self.shard.tally());
        let (postponed, missed) = (self.plan.postponed(), self.plan.missed(now, self.shard.tally()));
        let (passed, lost, inbox) = self.steering.map_or((0, 0, None), |steering| {
            let (passed, lost, inbox) = steering.end();
            (passed, lost, Some(inbox))
        });
        let counted = Counted::new(&self.shard, self.meter, postponed, missed);
        Outcome { now, counted: Counted { passed, lost, ..counted }, inbox }
    }
}

/// Takes a burst of frames from a ring. Returns whether there were some.
#[inline]
fn receive(
    side: End,
    rx: &mut RxRing,
    shard: &mut Shard,
    mut steering: Option<&mut Steering>,
    now: u64,
    wire: &mut Bursts<'_>,
) -> bool {
    let (mut moved, mut whole) = (false, [0; FRAME]);
    shard.burst(side, rx.burst(BURST), RxFrame::bytes, |shard, frame| {
        moved = true;
        let bytes = if frame.is_chained() {
            let len = frame.copy_to(&mut whole);
            &whole[..len]
        } else {
            frame.bytes()
        };
        if steering.as_mut().is_none_or(|steering| steering.is_here(side, bytes)) {
            shard.receive(side, bytes, now, wire);
        }
    });
    moved
}

/// Starts what is due; returns whether a flow began.
fn start(plan: &mut Plan, shard: &mut Shard, now: u64, wire: &mut Bursts<'_>) -> bool {
    let mut began = false;
    for _ in 0..STARTS {
        let Some(start) = plan.due(now, shard.tally()) else { break };
        // Slots run short: flows that are under way come first.
        if wire.is_short(End::Client) || shard.start(start.flow, start.due, now, wire).is_err() {
            plan.postpone(start, now, shard.tally());
            continue;
        }
        plan.made(start);
        began = true;
    }
    began
}
