//! Multiple loss ratio search (RFC 9971): several goals, devices that are not quite steady.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Found, GoalResult, Measured, Reason, Search, Step};
use crate::trial::rate::{Load, SECOND};

/// Millionths in a whole.
const MILLION: u64 = 1_000_000;

/// Lengths of first trials.
const FIRST_PS: u64 = SECOND;

/// What a load has to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// Millionths that a trial may lose.
    pub loss_ppm: u64,
    /// Length of a trial that counts in full, picoseconds.
    pub final_ps: u64,
    /// Trials of a load until it is decided, picoseconds in all.
    pub sum_ps: u64,
    /// Millionths of the time that may have lost more.
    pub exceed_ppm: u64,
    /// Distance of the bounds in millionths of the upper one at which the search ends.
    pub width_ppm: u64,
}

/// What is known of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Lower,
    Upper,
    Undecided,
}

/// A trial: its length and what it lost.
type Sample = (u64, u64);

impl Goal {
    /// Goals on the way to this one: shorter trials, fewer of them, bounds further apart.
    fn preceding(&self) -> [Self; 3] {
        let first = FIRST_PS.min(self.final_ps);
        let between = |a: u64, b: u64| ((a as f64 * b as f64).sqrt() as u64).clamp(a, b);
        [
            Self { final_ps: first, sum_ps: first, width_ppm: 4 * self.width_ppm, ..*self },
            Self {
                final_ps: between(first, self.final_ps),
                sum_ps: between(first, self.sum_ps),
                width_ppm: 2 * self.width_ppm,
                ..*self
            },
            *self,
        ]
    }

    /// What the trials of a load say about it (RFC 9971, appendix: load classification).
    fn bound(&self, samples: &[Sample]) -> Bound {
        let sum = |long: bool, bad: bool| -> u64 {
            let of = |&&(length, loss): &&Sample| {
                (length >= self.final_ps) == long && (loss > self.loss_ppm) == bad
            };
            samples.iter().filter(of).map(|(length, _)| length).sum()
        };
        // Short trials count only against a load.
        let good_share = u128::from(self.exceed_ppm) * u128::from(sum(false, false));
        let excused = good_share / u128::from((MILLION - self.exceed_ppm).max(1));
        let bad = sum(true, true) + sum(false, true).saturating_sub(excused as u64);
        let counted = sum(true, false) + bad;
        let whole = counted.max(self.sum_ps);
        let exceeds = |bad: u64| {
            u128::from(bad) * u128::from(MILLION) > u128::from(self.exceed_ppm) * u128::from(whole)
        };
        match (exceeds(bad), exceeds(bad + whole - counted)) {
            (true, _) => Bound::Upper,
            (false, false) => Bound::Lower,
            (false, true) => Bound::Undecided,
        }
    }

    /// Loss of the trial at which the time that may have lost more begins.
    fn quantile_loss(&self, samples: &[Sample]) -> u64 {
        let mut long: Vec<(u64, u64)> = samples
            .iter()
            .filter(|(length, _)| *length >= self.final_ps)
            .map(|&(length, loss)| (loss, length))
            .collect();
        long.sort_unstable();
        let whole = long.iter().map(|(_, length)| length).sum::<u64>().max(self.sum_ps);
        let needed = u128::from(whole) * u128::from(MILLION - self.exceed_ppm) / u128::from(MILLION);
        let mut sum = 0;
        let at = long.iter().find(|(_, length)| {
            sum += u128::from(*length);
            sum >= needed
        });
        at.or(long.last()).map_or(0, |(loss, _)| *loss)
    }
}

/// The search.
#[derive(Clone, Debug)]
pub struct Mlr {
    goals: Vec<Goal>,
    samples: BTreeMap<Load, Vec<Sample>>,
    min: Load,
    max: Load,
    limited: bool,
    /// Goal that is worked on, and which of its predecessors.
    at: (usize, usize),
    /// Bounds that an earlier goal ended with: where to look first.
    hint: (Option<Load>, Option<Load>),
    /// How far to go beyond what is known, millionths.
    stride: u64,
    results: Vec<GoalResult>,
    step: Step,
}

impl Mlr {
    /// A search for `goals`, one after the other, among loads from `min` up. The first trial, at full load, is to warm up; what
    /// was forwarded in it is the first load that is looked at.
    #[must_use]
    pub fn new(goals: &[Goal], min: Load) -> Self {
        let length_ps = goals.first().map_or(FIRST_PS, |goal| goal.preceding()[0].final_ps);
        let step = match goals {
            [] => Step::Done(Found { goals: Vec::new() }),
            _ => Step::Try { load: Load::MAX, length_ps },
        };
        Self {
            goals: goals.to_vec(),
            samples: BTreeMap::new(),
            min: min.max(Load(1)),
            max: Load::MAX,
            limited: false,
            at: (0, 0),
            hint: (None, None),
            stride: 0,
            results: Vec::new(),
            step,
        }
    }

    /// Highest lower bound below the lowest upper bound, and that.
    fn bounds(&self, goal: &Goal) -> (Option<Load>, Option<Load>) {
        let of = |bound: Bound| {
            self.samples.iter().filter(move |(_, s)| goal.bound(s) == bound).map(|(load, _)| *load)
        };
        let upper = of(Bound::Upper).next();
        let lower = of(Bound::Lower).take_while(|load| upper.is_none_or(|upper| *load < upper)).last();
        (lower, upper)
    }

    /// The next load for the goal in hand; `None` when its bounds are close enough.
    fn choose(&mut self, goal: &Goal) -> Option<Load> {
        let (lower, upper) = self.bounds(goal);
        let hinted = |hint: Option<Load>| {
            hint.filter(|&load| lower.is_none_or(|l| load > l) && upper.is_none_or(|u| load < u))
        };
        let low = lower.map_or(u64::from(self.min.0) - 1, |load| u64::from(load.0));
        let width = |upper: u64| (upper * goal.width_ppm / MILLION).max(1);
        let close = |upper: Load| u64::from(upper.0) - low <= width(upper.0.into());
        match (lower, upper) {
            (Some(lower), None) if lower >= self.max => None,
            (_, Some(upper)) if upper <= self.min => None,
            (Some(_), Some(upper)) if close(upper) => None,
            (None, _) if hinted(self.hint.0).is_some() => hinted(self.hint.0),
            (Some(_), _) if hinted(self.hint.1).is_some() => hinted(self.hint.1),
            (_, None) => Some(Load(self.outward(goal, low, true)).min(self.max)),
            (None, Some(upper)) => Some(Load(self.outward(goal, upper.0.into(), false)).max(self.min)),
            (Some(lower), Some(upper)) => {
                // What is left after a step that is as long as the others is not left over.
                let (gap, unit) = (u64::from(upper.0 - lower.0), width(upper.0.into()));
                let half =
                    if gap < 4 * unit { gap / 2 } else { gap.div_ceil(unit).next_power_of_two() / 2 * unit };
                Some(Load((low + half.clamp(1, gap - 1)) as u32))
            }
        }
    }

    /// A load beyond `from`, each time twice as far.
    fn outward(&mut self, goal: &Goal, from: u64, up: bool) -> u32 {
        self.stride = (2 * self.stride).max(from * goal.width_ppm / MILLION).max(1);
        let to = if up { from + self.stride } else { from.saturating_sub(self.stride) };
        to.min(MILLION) as u32
    }

    fn decide(&mut self) -> Step {
        while let Some(goal) = self.goals.get(self.at.0).copied() {
            let now = goal.preceding()[self.at.1];
            let open = |load: &Load| self.samples.get(load).is_none_or(|s| now.bound(s) == Bound::Undecided);
            if let Step::Try { load, .. } = self.step
                && load <= self.max
                && self.samples.contains_key(&load)
                && open(&load)
            {
                return Step::Try { load, length_ps: now.final_ps };
            }
            if let Some(load) = self.choose(&now) {
                return Step::Try { load, length_ps: now.final_ps };
            }
            self.hint = self.bounds(&now);
            self.stride = 0;
            self.at.1 += 1;
            if self.at.1 == goal.preceding().len() {
                let result = self.result(&goal);
                self.results.push(result);
                self.at = (self.at.0 + 1, 0);
            }
        }
        Step::Done(Found { goals: self.results.clone() })
    }

    fn result(&self, goal: &Goal) -> GoalResult {
        let (load, failing) = self.bounds(goal);
        let loss = load.and_then(|load| self.samples.get(&load)).map_or(0, |s| goal.quantile_loss(s));
        let conditional =
            load.map_or(0.0, |load| f64::from(load.0) * (MILLION - loss) as f64 / MILLION as f64);
        let reason = match (load, failing) {
            (None, _) => Reason::Nothing,
            (_, Some(_)) => Reason::Bracketed,
            (_, None) if self.limited => Reason::TesterLimit,
            (_, None) => Reason::Maximum,
        };
        GoalResult { load, failing, conditional, loss_ppm: goal.loss_ppm, reason }
    }
}

impl Search for Mlr {
    fn next(&self) -> Step {
        self.step.clone()
    }

    fn learn(&mut self, measured: &Measured) {
        let warm_up = self.samples.is_empty() && self.hint == (None, None);
        if measured.limited {
            self.limited = true;
            self.max = self.max.min(measured.load);
            self.min = self.min.min(self.max);
        }
        if warm_up {
            self.hint.0 = Some(measured.forwarded.clamp(self.min, self.max));
        } else {
            let load = measured.load.min(self.max);
            self.samples.entry(load).or_default().push((measured.length_ps, measured.loss_ppm()));
        }
        self.step = self.decide();
    }
}
