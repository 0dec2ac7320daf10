//! Which flow starts now.

use std::sync::Arc;

use crate::base::hash::PeerKey;
use crate::code::{self, Bundle, Stop, Unit, What};
use crate::schedule::late::Late;
use crate::schedule::level::Level;
use crate::schedule::mix::{Mix, Turns};
use crate::schedule::profile::{BadProfile, Phase, Profile};
use crate::schedule::starts::{Share, Spacing, Starts};
use crate::schedule::volume::Volume;
use crate::shard::Tally;

use super::count::Flows;
use super::steady::{end_of, is_attack};

/// How long a load waits before it tries a postponed start again, if nothing else happens.
const RETRY_NS: u64 = 200_000;
/// A packet or flow of an attack that is late by more than this is left out: an attack never catches up, so it keeps its rate.
const ATTACK_LATE_NS: u64 = 10_000_000;
/// What seeds of Poisson loads are for: other keys of a shard have smaller numbers.
const PURPOSE: u64 = 1 << 32;

/// A flow that may start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Index into the flows.
    pub flow: u16,
    /// When it should have begun, in ns of the run: latencies count from then.
    pub due: u64,
    /// Index into the loads.
    load: usize,
}

/// The starts of one worker, by the plan of a bundle.
///
/// The caller asks [`due`](Self::due) for a flow, tries to start it, and tells how that ended by [`made`](Self::made) or
/// [`postpone`](Self::postpone). A postponed start comes later. One of an attack does not: an attack never exceeds its rate.
#[derive(Debug)]
pub struct Plan {
    loads: Vec<Running>,
    max_active: u64,
    stops: Vec<Stop>,
    end_ns: u64,
    drain_ns: u64,
}

#[derive(Debug)]
struct Running {
    flows: Vec<u16>,
    /// `None` for a single flow.
    mix: Option<Mix>,
    /// What the mix chose, until it starts.
    picked: Option<u16>,
    shape: Shape,
    attack: bool,
    end_ns: u64,
    /// No try before this time, because a start was postponed.
    wait_until: u64,
    missed: u64,
}

#[derive(Debug)]
enum Shape {
    Rate(Box<Starts>),
    Active { level: Level, late: Late },
    Bits { volume: Volume, late: Late, expected: Vec<u64> },
}

impl Plan {
    /// A worker's share of a bundle's plan.
    ///
    /// # Errors
    /// When a load is longer or higher than [`schedule`](crate::schedule) can do.
    pub fn new(bundle: &Bundle, share: Share) -> Result<Self, BadProfile> {
        let plan = &bundle.plan;
        let loads = (0..).zip(&plan.loads).map(|(at, load)| Running::new(bundle, at, load, share));
        let workers = u64::from(share.workers.max(1));
        Ok(Self {
            loads: loads.collect::<Result<_, _>>()?,
            max_active: if plan.max_active == 0 { u64::MAX } else { plan.max_active.div_ceil(workers) },
            stops: plan.stops.clone(),
            end_ns: plan.loads.iter().map(end_of).max().unwrap_or(0),
            drain_ns: plan.drain,
        })
    }

    /// A flow that is due at `now`. `None`: none is, or none has room now.
    pub fn due(&mut self, now: u64, tally: &Tally) -> Option<Start> {
        let full = active(tally) >= self.max_active;
        for (at, load) in self.loads.iter_mut().enumerate() {
            if now < load.wait_until || load.due(now, tally) == 0 {
                continue;
            }
            if full {
                load.postpone(now, tally);
                continue;
            }
            return Some(Start { flow: load.pick(), due: load.since(now), load: at });
        }
        None
    }

    /// The flow has started.
    pub fn made(&mut self, start: Start) {
        self.loads[start.load].made();
    }

    /// The flow could not start. Its load tries again a little later.
    pub fn postpone(&mut self, start: Start, now: u64, tally: &Tally) {
        self.loads[start.load].postpone(now, tally);
    }

    /// When [`due`](Self::due) may have a flow, if no flow ends before.
    pub fn next_ns(&self, now: u64, tally: &Tally) -> Option<u64> {
        self.loads.iter().filter_map(|load| load.next_ns(now, tally)).min()
    }

    /// When the last load ends, in ns of the run.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// When the run is over, even if flows are active.
    pub fn over_ns(&self) -> u64 {
        self.end_ns.saturating_add(self.drain_ns)
    }

    /// Starts that were late.
    pub fn postponed(&self) -> u64 {
        self.loads.iter().map(Running::postponed).sum()
    }

    /// Starts that are due at `now` and were not made. Starts that attacks left out count, too.
    pub fn missed(&mut self, now: u64, tally: &Tally) -> u64 {
        self.loads.iter_mut().map(|load| load.missed + load.due(now, tally)).sum()
    }

    /// The condition of the plan that ends the run now.
    pub fn stopped(&self, now: u64, bundle: &Bundle, tally: &Tally) -> Option<Stop> {
        if self.stops.is_empty() { None } else { holding(&self.stops, now, Flows::of_stories(bundle, tally)) }
    }
}

/// The first condition that holds for so many flows.
pub(super) fn holding(stops: &[Stop], now: u64, flows: Flows) -> Option<Stop> {
    let holds = |stop: &&Stop| match **stop {
        Stop::Failed(count) => flows.failed >= count,
        Stop::Complete(count) => flows.complete >= count,
        Stop::After(ns) => now >= ns,
        Stop::FailedShare(millionths) => {
            let ended = flows.failed + flows.complete;
            let share = u128::from(flows.failed) * 1_000_000;
            ended >= 1000 && share > u128::from(millionths) * u128::from(ended)
        }
    };
    stops.iter().find(holds).copied()
}

/// Flows that run, as the end that started them sees it.
pub(super) fn active(tally: &Tally) -> u64 {
    tally.flows.iter().map(|ends| ends[0].active).sum()
}

impl Running {
    fn new(bundle: &Bundle, at: u64, load: &code::Load, share: Share) -> Result<Self, BadProfile> {
        let shares: Vec<(u16, u32)> = match load.what {
            What::Flow(flow) => vec![(flow as u16, 1)],
            What::Mix(mix) => {
                let shares = bundle.mixes.get(mix as usize).map_or(&[][..], |mix| &mix.shares);
                shares.iter().map(|share| (share.flow as u16, share.weight)).collect()
            }
        };
        let seed = PeerKey::new(bundle.seed, PURPOSE + at).hash([]);
        let poisson = load.spacing == code::Spacing::Poisson;
        let weights: Vec<u32> = shares.iter().map(|share| share.1).collect();
        let turns = if poisson { Turns::Drawn(seed) } else { Turns::Smooth };
        let waits = std::iter::once(Phase::drain(load.start));
        let phases = load.phases.iter().map(|phase| Phase::ramp(phase.from, phase.to, phase.length));
        let profile = Arc::new(Profile::new(&waits.chain(phases).collect::<Vec<_>>())?);
        let shape = match load.unit {
            Unit::Flows | Unit::Packets => {
                let spacing = if poisson { Spacing::Poisson(seed) } else { Spacing::Even };
                Shape::Rate(Box::new(Starts::new(profile, spacing, share, u64::MAX)?))
            }
            Unit::Active => Shape::Active { level: Level::new(profile, share), late: Late::default() },
            Unit::Bits => {
                let bits = |flow: &code::Flow| (flow.estimate.bytes * 8).max(1);
                let expected = bundle.flows.iter().map(bits).collect();
                Shape::Bits { volume: Volume::new(profile, share), late: Late::default(), expected }
            }
        };
        Ok(Self {
            flows: shares.iter().map(|share| share.0).collect(),
            mix: if shares.len() > 1 { Mix::new(&weights, turns) } else { None },
            picked: None,
            shape,
            attack: is_attack(bundle, load),
            end_ns: end_of(load),
            wait_until: 0,
            missed: 0,
        })
    }

    /// How many starts are due.
    fn due(&mut self, now: u64, tally: &Tally) -> u64 {
        if self.attack {
            self.leave_out(now);
        }
        match &mut self.shape {
            Shape::Rate(starts) => starts.due(now),
            Shape::Active { level, late } => {
                let due = level.due(now, active_of(&self.flows, tally));
                late.at_most(due);
                due
            }
            Shape::Bits { volume, late, expected } => {
                let mean = self.flows.iter().map(|&flow| expected[usize::from(flow)]).sum::<u64>();
                let bits = bits_of(&self.flows, expected, tally);
                let due = volume.due(now, bits, mean / self.flows.len().max(1) as u64);
                late.at_most(due);
                due
            }
        }
    }

    /// Leaves out starts of an attack that are too late, or that its time limit forbids.
    fn leave_out(&mut self, now: u64) {
        let Shape::Rate(starts) = &mut self.shape else { return };
        starts.due(now);
        let late = |at: u64| at.saturating_add(ATTACK_LATE_NS) < now || now >= self.end_ns;
        while starts.next_ns().is_some_and(|at| at <= now && late(at)) {
            starts.start();
            self.missed += 1;
        }
    }

    /// Since when the next start has been due. A number of flows and a bit rate have no such times: a start is due
    /// when it could be made, and keeps this time while it is postponed.
    fn since(&self, now: u64) -> u64 {
        match &self.shape {
            Shape::Rate(starts) => starts.next_ns().unwrap_or(now),
            Shape::Active { late, .. } | Shape::Bits { late, .. } => late.since(now),
        }
    }

    fn pick(&mut self) -> u16 {
        let first = self.flows.first().copied().unwrap_or(0);
        let Some(mix) = &mut self.mix else { return first };
        let flows = &self.flows;
        *self.picked.get_or_insert_with(|| flows.get(mix.pick()).copied().unwrap_or(first))
    }

    fn made(&mut self) {
        self.picked = None;
        match &mut self.shape {
            Shape::Rate(starts) => _ = starts.start(),
            Shape::Active { late, .. } | Shape::Bits { late, .. } => late.start(),
        }
    }

    fn postpone(&mut self, now: u64, tally: &Tally) {
        self.wait_until = now.saturating_add(RETRY_NS);
        let due = self.due(now, tally);
        match &mut self.shape {
            Shape::Rate(starts) => starts.postpone(),
            Shape::Active { late, .. } | Shape::Bits { late, .. } => late.left(now, due),
        }
    }

    fn next_ns(&self, now: u64, tally: &Tally) -> Option<u64> {
        let next = match &self.shape {
            Shape::Rate(starts) => starts.next_ns(),
            Shape::Active { level, .. } => level.next_ns(now, active_of(&self.flows, tally)),
            Shape::Bits { volume, expected, .. } => {
                volume.next_ns(now, bits_of(&self.flows, expected, tally))
            }
        };
        next.map(|at| at.max(self.wait_until))
    }

    fn postponed(&self) -> u64 {
        match &self.shape {
            Shape::Rate(starts) => starts.postponed(),
            Shape::Active { late, .. } | Shape::Bits { late, .. } => late.postponed(),
        }
    }
}

/// The bits that the flows of a load had, and what the compiler expects of active ones. So a load never exceeds its rate.
fn bits_of(flows: &[u16], expected: &[u64], tally: &Tally) -> u64 {
    let (last, own) = tally.flow_bytes.split_last().unwrap_or((&0, &[]));
    // What went after the ends of flows belongs to all alike.
    let more = *last as f64 / own.iter().sum::<u64>().max(1) as f64;
    let of = |&flow: &u16| {
        let flow = usize::from(flow);
        let bytes = own.get(flow).copied().unwrap_or(0);
        (bytes + (bytes as f64 * more) as u64) * 8
            + tally.flows.get(flow).map_or(0, |ends| ends[0].active) * expected[flow]
    };
    flows.iter().map(of).sum()
}

/// Flows of a load that run.
fn active_of(flows: &[u16], tally: &Tally) -> u64 {
    flows.iter().filter_map(|&flow| tally.flows.get(usize::from(flow))).map(|ends| ends[0].active).sum()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
