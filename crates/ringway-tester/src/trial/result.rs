//! One trial: what is asked for, what was counted, and what it is worth.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::collect::Collected;
use super::ledger::{Gap, Received, seconds};
use super::marks::Marks;
use super::mix::Mix;
use super::pauses::Pauses;
use super::rate::{MICROSECOND, Rate, SECOND, loss_ppm};
use super::schedule::{CATCH_UP, Schedule};
use super::transmit::Departures;
use super::variant::Variant;
use crate::trial::polled::Work;
use ringway_traffic::latency::{Latencies, LatencySummary};

/// Shares of frames at which latencies are told, for a plot.
const CURVE: [f64; 14] =
    [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0];

/// How long a leg of a trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// Picoseconds.
    Time(u64),
    /// Frames.
    Frames(u64),
}

/// A part of a trial at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Units of the mix a second.
    pub rate: Rate,
    /// How long.
    pub length: Length,
}

/// What a trial is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Sizes of the frames.
    pub mix: Mix,
    /// Rates, one after the other.
    pub legs: Vec<Leg>,
    /// How long stragglers are waited for, picoseconds.
    pub wait_ps: u64,
    /// Each frame of the schedule has to leave, or the trial is invalid; otherwise 10 us worth of them may be missing.
    pub exact: bool,
    /// Latencies are recorded.
    pub latency: bool,
    /// A link that goes down is the device's doing and no end of the trial.
    #[serde(default)]
    pub link_may_fall: bool,
    /// Frames that a late sender makes up for; the rest is not sent.
    #[serde(default = "catch_up")]
    pub catch_up: u64,
    /// What it differs in from a plain one.
    #[serde(default, skip_serializing_if = "Variant::is_plain")]
    pub variant: Variant,
}

fn catch_up() -> u64 {
    CATCH_UP
}

impl TrialSpec {
    /// A trial at one rate for a time.
    #[must_use]
    pub fn at(mix: &Mix, rate: Rate, length_ps: u64, wait_ps: u64) -> Self {
        Self {
            mix: mix.clone(),
            legs: vec![Leg { rate, length: Length::Time(length_ps) }],
            wait_ps,
            exact: false,
            latency: false,
            link_may_fall: false,
            catch_up: CATCH_UP,
            variant: Variant::default(),
        }
    }

    /// A burst of `frames` at one rate.
    #[must_use]
    pub fn burst(mix: &Mix, rate: Rate, frames: u64, wait_ps: u64) -> Self {
        Self {
            mix: mix.clone(),
            legs: vec![Leg { rate, length: Length::Frames(frames) }],
            wait_ps,
            exact: true,
            latency: false,
            link_may_fall: false,
            catch_up: CATCH_UP,
            variant: Variant::default(),
        }
    }

    /// The same, with latencies.
    #[must_use]
    pub fn with_latency(self) -> Self {
        Self { latency: true, ..self }
    }

    /// The due times.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::new(self.mix.clone()).with_catch_up(self.catch_up);
        for leg in &self.legs {
            match leg.length {
                Length::Time(ps) => schedule.push(leg.rate, ps),
                Length::Frames(n) => schedule.push_count(leg.rate, n),
            }
        }
        schedule
    }

    /// How long it takes with the wait for stragglers, picoseconds.
    #[must_use]
    pub fn duration_ps(&self) -> u64 {
        self.schedule().end_ps() + self.wait_ps
    }
}

/// Why a trial says nothing about the device: the tester itself misbehaved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Frames of the schedule never left.
    Short {
        /// So many.
        frames: u64,
        /// So many may.
        allowed: u64,
    },
    /// The receiving thread did not run for longer than its ring lasts.
    Stalled {
        /// How often.
        times: u64,
        /// Longest pause of the trial, nanoseconds.
        longest_ns: u64,
        /// Longest that loses nothing, nanoseconds.
        allowed_ns: u64,
    },
    /// Frames lay in the receiver's ring when counting had ended: for all that is known they came in time.
    Late {
        /// So many.
        frames: u64,
    },
    /// The receiving port lost frames that had reached it.
    Overrun {
        /// So many.
        frames: u64,
    },
    /// More different frames arrived than were sent: the tester's own account is wrong.
    Excess {
        /// So many.
        frames: u64,
    },
    /// The link of a port went down.
    LinkDown {
        /// The port.
        port: String,
    },
    /// The user ended it.
    Interrupted,
}

impl Fault {
    /// What lets the next run have a result, where the text does not say it.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        match self {
            Self::Short { .. } => Some(
                "lower the load (`--pps 500k` or `--link 1G`), give its thread a CPU of its own (`--cpus`) or raise `--catch-up`",
            ),
            Self::Stalled { .. } | Self::Overrun { .. } => Some(
                "take longer rings (`--slots 65536`), give its thread a CPU of its own (`--cpus`) or lower the load (`--pps`)",
            ),
            Self::LinkDown { .. } => Some("set it up with `ip link set IF up`, and look at its other end"),
            Self::Late { .. } | Self::Excess { .. } | Self::Interrupted => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { frames, allowed } => {
                write!(f, "the sender left out {frames} frames of the schedule; {allowed} may be missing")
            }
            Self::Stalled { times, longest_ns, allowed_ns } => write!(
                f,
                "the receiver stood still {times} times, up to {longest_ns} ns; its ring lasts {allowed_ns} ns"
            ),
            Self::Late { frames } => write!(
                f,
                "{frames} frames were found when counting had ended: the receiver was late, or the device is; raise --wait"
            ),
            Self::Overrun { frames } => write!(f, "the receiving port itself lost {frames} frames"),
            Self::Excess { frames } => write!(f, "{frames} more frames were counted than sent"),
            Self::LinkDown { port } => write!(f, "the link of {port} is down"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// Frames in the place of test frames, which are no loss when they do not come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// Sent: broadcasts, or queries.
    pub sent: u64,
    /// Received: broadcasts, or answers.
    pub received: u64,
}

impl std::ops::AddAssign for Extra {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

/// What one stream of a trial counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// Number of the stream; one for each direction.
    pub stream: u16,
    /// Frames sent.
    pub tx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// What came.
    pub received: Received,
    /// Latency of its frames.
    pub latency: LatencySummary,
}

/// What a trial found. Rates are frames a second over all streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialResult {
    /// Rate asked for.
    pub intended_fps: f64,
    /// Rate at which frames left, measured.
    pub offered_fps: f64,
    /// Rate at which they were forwarded: different frames received over the time of sending.
    pub forwarded_fps: f64,
    /// Test frames that were to be sent.
    pub scheduled: u64,
    /// Test frames sent.
    pub tx: u64,
    /// Different frames received.
    pub rx: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Everything received.
    pub received: Received,
    /// Length of the schedule, picoseconds.
    pub length_ps: u64,
    /// Why it says nothing about the device; empty when it does.
    pub faults: Vec<Fault>,
    /// Latencies, first bit to first bit.
    pub latency: LatencySummary,
    /// Latencies that shares of all frames do not exceed: share, nanoseconds.
    pub curve: Vec<(f64, u64)>,
    /// Mean change of latency from one frame of a stream to the next, nanoseconds.
    pub jitter_ns: f64,
    /// When the last frame that never came was sent, picoseconds after the start.
    pub last_lost_ps: Option<u64>,
    /// Longest time without an arrival.
    pub gap: Gap,
    /// Most frames that left in one turn.
    pub largest_burst: u64,
    /// How late frames left; nothing when they left on schedule by construction.
    pub lateness: LatencySummary,
    /// Pauses of the sending loops.
    pub tx_pauses: Pauses,
    /// Pauses of the receiving loops.
    pub rx_pauses: Pauses,
    /// Each stream.
    pub streams: Vec<StreamCounts>,
    /// Frames in the place of test frames, if the variant has any: rates count them, losses do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
    /// What a device of this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Work>,
}

/// What a trial is worth for a loss goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The loss is within the goal.
    Pass,
    /// It is not.
    Fail,
    /// The tester misbehaved: not known.
    Invalid,
}

impl Verdict {
    /// Of a trial in which the tester did as it should, or not, and the loss was within the goal, or not.
    #[must_use]
    pub fn of(sound: bool, within: bool) -> Self {
        match (sound, within) {
            (false, _) => Self::Invalid,
            (true, true) => Self::Pass,
            (true, false) => Self::Fail,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Invalid => "invalid",
        })
    }
}

impl TrialResult {
    /// The verdict for a goal of `goal_ppm` millionths of loss.
    #[must_use]
    pub fn verdict(&self, goal_ppm: u64) -> Verdict {
        Verdict::of(self.faults.is_empty(), self.loss_ppm() <= goal_ppm)
    }

    /// Loss in millionths of the frames sent, rounded up.
    #[must_use]
    pub fn loss_ppm(&self) -> u64 {
        loss_ppm(self.tx, self.lost)
    }

    /// Whether the only fault is that fewer frames left than asked for: the tester is at its limit.
    #[must_use]
    pub fn only_short(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(|f| matches!(f, Fault::Short { .. }))
    }

    /// Whether fewer frames left than asked for, whatever else went wrong.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.faults.iter().any(|f| matches!(f, Fault::Short { .. }))
    }

    /// Whether the user ended it.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.faults.contains(&Fault::Interrupted)
    }
}

/// A stream's two ends when its loops have ended.
pub(super) struct LoopEnds {
    pub(super) stream: u16,
    pub(super) departures: Departures,
    pub(super) collected: Collected,
}

/// Adds the streams up and judges the tester.
pub(super) fn conclude(
    order: &TrialSpec,
    schedule: &Schedule,
    ends: &[LoopEnds],
    interrupted: bool,
) -> TrialResult {
    let length_ps = schedule.end_ps();
    let over = seconds(length_ps).max(1e-12);
    let marks = order.variant.marks(schedule);
    let mut t = TrialResult {
        intended_fps: schedule.frames() as f64 * ends.len() as f64 / over,
        scheduled: (schedule.frames() - marks.below(schedule.frames())) * ends.len() as u64,
        length_ps,
        extra: (!marks.is_empty()).then(Extra::default),
        ..TrialResult::nothing()
    };
    let (mut latencies, mut lateness) = (Latencies::new(), Latencies::new());
    for e in ends {
        t.add(e, schedule, &marks, &mut latencies, &mut lateness);
        t.offered_fps += offered(&e.departures, schedule);
        t.faults.extend(faults(order, schedule, &marks, e, interrupted));
    }
    if interrupted {
        t.faults.push(Fault::Interrupted);
    }
    // A sender that is late may end a little behind the schedule.
    let sent_for = ends.iter().map(|e| e.departures.span_ps.1).max().unwrap_or(0);
    let over = seconds(length_ps.max(sent_for)).max(1e-12);
    t.forwarded_fps = (t.rx + t.extra.map_or(0, |x| x.received)) as f64 / over;
    t.jitter_ns /= ends.len().max(1) as f64;
    if latencies.count() > 0 {
        t.latency = latencies.summary();
        t.curve = CURVE.iter().map(|&share| (share, latencies.quantile(share))).collect();
    }
    if lateness.count() > 0 {
        t.lateness = lateness.summary();
    }
    t
}

/// Frames a second while the stream was sent: `n` frames take `n - 1` gaps, and the last one its time on schedule.
pub(crate) fn offered(d: &Departures, schedule: &Schedule) -> f64 {
    let spaced = d.span_ps.1.saturating_sub(d.span_ps.0);
    let last = schedule.end_ps().saturating_sub(schedule.due_ps(schedule.frames().saturating_sub(1)));
    d.sent as f64 / seconds(spaced + last.max(1))
}

fn faults(
    order: &TrialSpec,
    schedule: &Schedule,
    marks: &Marks,
    e: &LoopEnds,
    interrupted: bool,
) -> Vec<Fault> {
    let allowed = if order.exact { 0 } else { (schedule.peak() * seconds(10 * MICROSECOND)) as u64 };
    let mut faults = Vec::new();
    if e.departures.short > allowed && !interrupted {
        faults.push(Fault::Short { frames: e.departures.short, allowed });
    }
    let (pauses, c) = (&e.collected.pauses, &e.collected);
    if pauses.too_long > 0 {
        let (longest_ns, allowed_ns) = (pauses.longest_ns, c.slack_ps / 1000);
        faults.push(Fault::Stalled { times: pauses.too_long, longest_ns, allowed_ns });
    }
    let late = c.ledger.total().late;
    if late > 0 {
        faults.push(Fault::Late { frames: late });
    }
    if c.dropped > 0 {
        faults.push(Fault::Overrun { frames: c.dropped });
    }
    let unique = c.ledger.stream(e.stream).unique;
    let sent = e.departures.sent - marks.below(e.departures.sent);
    if unique > sent {
        faults.push(Fault::Excess { frames: unique - sent });
    }
    faults
}

impl TrialResult {
    fn nothing() -> Self {
        Self {
            intended_fps: 0.0,
            offered_fps: 0.0,
            forwarded_fps: 0.0,
            scheduled: 0,
            tx: 0,
            rx: 0,
            lost: 0,
            received: Received::default(),
            length_ps: 0,
            faults: Vec::new(),
            latency: LatencySummary::default(),
            curve: Vec::new(),
            jitter_ns: 0.0,
            last_lost_ps: None,
            gap: Gap::default(),
            largest_burst: 0,
            lateness: LatencySummary::default(),
            tx_pauses: Pauses::default(),
            rx_pauses: Pauses::default(),
            streams: Vec::new(),
            extra: None,
            device: None,
        }
    }

    fn add(
        &mut self,
        e: &LoopEnds,
        schedule: &Schedule,
        marks: &Marks,
        latencies: &mut Latencies,
        lateness: &mut Latencies,
    ) {
        let (all, ledger) = (e.departures.sent, &e.collected.ledger);
        let received = ledger.total();
        let extra = Extra { sent: marks.below(all), received: ledger.extra() };
        self.extra.iter_mut().for_each(|sum| *sum += extra);
        let sent = all - extra.sent;
        let lost = sent.saturating_sub(received.unique);
        self.tx += sent;
        self.rx += received.unique;
        self.lost += lost;
        self.received += received;
        // Frames behind the last that came are lost too.
        let behind = marks.last_other(all).filter(|&n| n >= ledger.next(e.stream));
        let last = behind.or_else(|| ledger.last_missing(e.stream));
        self.last_lost_ps = self.last_lost_ps.max(last.map(|n| schedule.due_ps(n)));
        if ledger.gap(e.stream).ps > self.gap.ps {
            self.gap = ledger.gap(e.stream);
        }
        self.largest_burst = self.largest_burst.max(e.departures.largest);
        self.tx_pauses.merge(&e.departures.pauses);
        self.rx_pauses.merge(&e.collected.pauses);
        if e.departures.largest > 0 {
            lateness.merge(&e.departures.lateness);
        }
        self.jitter_ns += ledger.jitter_ns(e.stream);
        let mut latency = LatencySummary::default();
        if let Some(of_stream) = ledger.latencies(e.stream) {
            latencies.merge(of_stream);
            latency = of_stream.summary();
        }
        self.streams.push(StreamCounts { stream: e.stream, tx: sent, lost, received, latency });
    }
}

/// Picoseconds of a number of seconds.
#[must_use]
pub fn from_seconds(s: f64) -> u64 {
    (s * SECOND as f64).round() as u64
}
