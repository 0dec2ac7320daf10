//! Both ends of all flows in one shard, over a wire in memory, in virtual time.
//!
//! Nothing here reads a clock. So the same bundle gives the same frames at the same times, on any machine.

use std::collections::VecDeque;
use std::fmt;

use crate::code::{Bundle, End, Kind, Load, Phase, Spacing, Unit, What};
use crate::schedule::profile::BadProfile;
use crate::schedule::starts::Share;
use crate::shard::{SetupError, Shape, Shard, Wire};
use crate::transport::Settings;

use super::counted::Counted;
use super::counts::Counts;
use super::history::History;
use super::meter::Meter;
use super::plan::{Plan, active};
use super::progress::TICK_NS;
use super::report::{Ended, Report, Run};
use super::size;

/// Hardware addresses of the two ports.
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// The longest frame.
const MOST_BYTES: usize = 2048;
/// How far apart flows start where the bundle has no plan, in ns, and how long the last one may take.
const APART_NS: u64 = 1_000_000_000;
const LAST_NS: u64 = 3_600_000_000_000;

/// How long the budget of instructions of a program lasts, in ns.
const BUDGET_NS: u64 = 1_000;

/// How a run in virtual time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a frame takes from one end to the other, in ns.
    pub delay_ns: u64,
    /// How TCP behaves.
    pub settings: Settings,
    /// Nothing happens after this time, in ns.
    pub until_ns: u64,
    /// Most flows and packets of attacks that start.
    pub flows: u64,
}

impl Default for Options {
    /// 50 us each way, until the plan is over.
    fn default() -> Self {
        Self { delay_ns: 50_000, settings: Settings::default(), until_ns: u64::MAX, flows: u64::MAX }
    }
}

/// Why a run ended too early.
#[derive(Debug)]
pub enum Failed<E> {
    /// The shard can't be made.
    Setup(SetupError),
    /// The plan can't be followed.
    Plan(BadProfile),
    /// The sink of frames refused one.
    Sink(E),
}

impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(why) => why.fmt(f),
            Self::Plan(why) => why.fmt(f),
            Self::Sink(why) => why.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Failed<E> {}

/// A plan for a bundle that has none: each story once, a second after the one before.
pub fn once(bundle: &mut Bundle) {
    let stories = (0..).zip(&bundle.flows).filter(|(_, flow)| flow.kind == Kind::Story);
    let load = |(start, flow): (u64, u32)| Load {
        what: What::Flow(flow),
        unit: Unit::Flows,
        start: start * APART_NS,
        phases: vec![Phase { from: 1000, to: 1000, length: APART_NS, steady: true }],
        spacing: Spacing::Even,
    };
    bundle.plan.loads = (0..).zip(stories.map(|(flow, _)| flow)).map(load).collect();
    bundle.plan.drain = LAST_NS;
}

/// A plan that starts one flow, at once.
pub fn only(bundle: &mut Bundle, flow: u32) {
    let phases = vec![Phase { from: 1000, to: 1000, length: APART_NS, steady: true }];
    let what = What::Flow(flow);
    bundle.plan = crate::code::Plan { drain: LAST_NS, ..crate::code::Plan::default() };
    bundle.plan.loads = vec![Load { what, unit: Unit::Flows, start: 0, phases, spacing: Spacing::Even }];
}

/// Runs the plan of a bundle. `sink` gets each frame with the time in ns at which its end sent it, in the order of these times.
///
/// # Errors
/// When the plan asks for more than there is memory for, when it can't be followed, or when `sink` fails.
///
/// ```
/// use ringway_flows::compile::{Options as Compile, Source, compile};
/// use ringway_flows::run::{stories, virtual_time::{self, Options}};
///
/// let mail = stories::find("mail").unwrap();
/// let source = Source { name: "mail", text: mail.text, read: &stories::read };
/// let mut bundle = compile(&source, &Compile::default()).unwrap();
/// virtual_time::once(&mut bundle);
/// let stories = bundle.flows.len() as u64;
/// let mut frames = 0;
/// let report = virtual_time::run(bundle, &Options::default(), |_time, _end, _frame| {
///     frames += 1;
///     Ok::<(), std::convert::Infallible>(())
/// })?;
/// assert_eq!((report.total.started, report.total.complete), (stories, stories));
/// assert!(frames > 20);
/// # Ok::<(), virtual_time::Failed<std::convert::Infallible>>(())
/// ```
pub fn run<E>(
    bundle: Bundle,
    options: &Options,
    sink: impl FnMut(u64, End, &[u8]) -> Result<(), E>,
) -> Result<Report, Failed<E>> {
    let mut plan = Plan::new(&bundle, Share::ALL).map_err(Failed::Plan)?;
    let mut meter = Meter::new(&bundle, 0);
    let (endpoints, block_bytes) = size::room(&bundle);
    let shape = Shape { endpoints, block_bytes, macs: MACS, start: 0 };
    let mut shard = Shard::new(bundle, options.settings, shape).map_err(Failed::Setup)?;
    let mut cable = Cable::new(options.delay_ns, sink);
    let mut history = History::new(TICK_NS);
    let mut bed = Bed {
        shard: &mut shard,
        plan: &mut plan,
        meter: &mut meter,
        history: &mut history,
        left: options.flows,
    };
    let (now, ended) = bed.run(&mut cable, options.until_ns);
    if let Some(why) = cable.failed {
        return Err(Failed::Sink(why));
    }
    meter.end(now, shard.tally());
    let (postponed, missed) = (plan.postponed(), plan.missed(now, shard.tally()));
    let counted = Counted::new(&shard, meter, postponed, missed);
    history.end(now, Counts::of(shard.bundle(), shard.tally()));
    let workers = Vec::new();
    Ok(Report::new(
        shard.bundle(),
        &counted,
        Run { start: 0, now, ended, virtual_time: true, workers, history },
    ))
}

/// What takes part in a run.
struct Bed<'a> {
    shard: &'a mut Shard,
    plan: &'a mut Plan,
    meter: &'a mut Meter,
    history: &'a mut History,
    /// Flows that may start.
    left: u64,
}

impl Bed<'_> {
    /// Goes from event to event. Returns the time of the end, and why it ended.
    fn run<E, S: FnMut(u64, End, &[u8]) -> Result<(), E>>(
        &mut self,
        cable: &mut Cable<E, S>,
        until: u64,
    ) -> (u64, Ended) {
        let mut now = 0;
        loop {
            let used = self.shard.tally().fuel_exhausted;
            self.meter.advance(now, self.shard.tally());
            if self.history.wants(now) {
                self.history.push(now, Counts::of(self.shard.bundle(), self.shard.tally()));
            }
            cable.now = now;
            while let Some((side, frame)) = cable.arrived() {
                self.shard.receive(side, &frame, now, cable);
                cable.spare.push(frame);
            }
            self.shard.poll(now, cable);
            self.start(now, cable);
            self.meter.note_active(self.shard.tally());
            if cable.failed.is_some() {
                return (now, Ended::Interrupted);
            }
            if let Some(stop) = self.plan.stopped(now, self.shard.bundle(), self.shard.tally()) {
                return (now, Ended::Stop(stop));
            }
            let Some(next) = self.next(now, cable) else {
                let is_limit = self.left == 0 && now < self.plan.end_ns();
                let plan = now.max(self.plan.end_ns().min(until));
                return if is_limit { (now, Ended::Limit) } else { (plan, Ended::Plan) };
            };
            if next > until {
                return (until, Ended::Limit);
            }
            if next > self.plan.over_ns() {
                return (self.plan.over_ns().max(now), Ended::Plan);
            }
            // A program that loops without an end meets the end of the run.
            let least = if self.shard.tally().fuel_exhausted > used { now + BUDGET_NS } else { now };
            now = next.max(least);
        }
    }

    /// Starts what is due.
    fn start(&mut self, now: u64, wire: &mut impl Wire) {
        while self.left > 0
            && let Some(start) = self.plan.due(now, self.shard.tally())
        {
            match self.shard.start(start.flow, start.due, now, wire) {
                Ok(()) => {
                    self.plan.made(start);
                    self.left -= 1;
                }
                Err(_) => self.plan.postpone(start, now, self.shard.tally()),
            }
        }
    }

    /// The time of the next event. `None`: nothing starts any more, and nothing is under way.
    fn next<E, S: FnMut(u64, End, &[u8]) -> Result<(), E>>(
        &self,
        now: u64,
        cable: &Cable<E, S>,
    ) -> Option<u64> {
        let tally = self.shard.tally();
        let start = if self.left > 0 { self.plan.next_ns(now, tally) } else { None };
        let under_way = tally.flows.iter().any(|ends| ends[0].active + ends[1].active > 0);
        let timer = self.shard.next_ns().filter(|_| under_way || active(tally) > 0);
        [start, timer, cable.next_ns()].into_iter().flatten().min().map(|next| next.max(now))
    }
}

/// A wire with the same delay each way, and room for any number of frames.
struct Cable<E, S> {
    now: u64,
    delay: u64,
    /// In the order of their arrival.
    frames: VecDeque<(u64, End, Vec<u8>)>,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
    sink: S,
    failed: Option<E>,
}

impl<E, S: FnMut(u64, End, &[u8]) -> Result<(), E>> Cable<E, S> {
    fn new(delay: u64, sink: S) -> Self {
        Self { now: 0, delay, frames: VecDeque::new(), spare: Vec::new(), sink, failed: None }
    }

    /// The next frame that has arrived, and at which end.
    fn arrived(&mut self) -> Option<(End, Vec<u8>)> {
        let now = self.now;
        self.frames.front().filter(|(at, _, _)| *at <= now)?;
        self.frames.pop_front().map(|(_, side, frame)| (side, frame))
    }

    fn next_ns(&self) -> Option<u64> {
        self.frames.front().map(|(at, _, _)| *at)
    }
}

impl<E, S: FnMut(u64, End, &[u8]) -> Result<(), E>> Wire for Cable<E, S> {
    fn room(&mut self, _: End) -> usize {
        usize::MAX
    }

    fn send(&mut self, side: End, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.resize(MOST_BYTES, 0);
        let len = write(&mut frame).min(MOST_BYTES);
        if len == 0 {
            return self.spare.push(frame);
        }
        frame.truncate(len);
        if self.failed.is_none() {
            self.failed = (self.sink)(self.now, side, &frame).err();
        }
        self.frames.push_back((self.now.saturating_add(self.delay), side.other(), frame));
    }
}

#[cfg(test)]
#[path = "virtual_tests.rs"]
mod tests;
