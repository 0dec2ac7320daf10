//! What was counted when attacks began and ended.

use crate::code::Bundle;
use crate::shard::{Latency, Tally};

use super::count::Flows;
use super::steady::{end_of, is_attack};

/// The sums at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut {
    pub(super) ns: u64,
    /// By flow.
    pub(super) flows: Vec<Flows>,
    /// By flow: how long its flows took.
    pub(super) took: Vec<Latency>,
}

impl Cut {
    fn of(ns: u64, tally: &Tally) -> Self {
        let took = |flow| tally.whole_flow(flow).cloned().unwrap_or_default();
        let count = tally.flows.len();
        Self { ns, flows: tally.flows.iter().map(Flows::of).collect(), took: (0..count).map(took).collect() }
    }

    fn merge(&mut self, other: &Self) {
        self.ns = self.ns.max(other.ns);
        self.flows.iter_mut().zip(&other.flows).for_each(|(sum, part)| *sum = sum.plus(*part));
        self.took.iter_mut().zip(&other.took).for_each(|(sum, part)| sum.merge(part));
    }
}

/// Times at which attacks begin or end, and the last load ends, and the sums then. The end of the run is the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    edges: Vec<u64>,
    cuts: Vec<Cut>,
}

impl Cuts {
    /// For the attacks of a bundle.
    pub(super) fn of(bundle: &Bundle) -> Self {
        let attacks = bundle.plan.loads.iter().filter(|load| is_attack(bundle, load));
        let mut edges: Vec<u64> = attacks.flat_map(|load| [load.start, end_of(load)]).collect();
        if !edges.is_empty() {
            // What a drain leaves is no effect of an attack.
            edges.extend(bundle.plan.loads.iter().map(end_of).max());
        }
        edges.sort_unstable();
        edges.dedup();
        Self { edges, cuts: Vec::new() }
    }

    /// Before anything happens at a time.
    #[inline]
    pub(super) fn advance(&mut self, now: u64, tally: &Tally) {
        while self.edges.get(self.cuts.len()).is_some_and(|edge| now >= *edge) {
            self.cuts.push(Cut::of(now, tally));
        }
    }

    /// The run ends.
    pub(super) fn end(&mut self, now: u64, tally: &Tally) {
        if !self.edges.is_empty() {
            self.advance(now, tally);
            self.cuts.push(Cut::of(now, tally));
        }
    }

    /// Adds another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.cuts.iter_mut().zip(&other.cuts).for_each(|(sum, part)| sum.merge(part));
    }

    /// The cut before a time at which an attack begins or ends, the one at it, and the one behind it. Before the first one is the start of the
    /// run.
    pub(super) fn around(&self, edge: u64) -> [Option<&Cut>; 3] {
        let Some(at) = self.edges.iter().position(|this| *this == edge) else { return [None; 3] };
        [at.checked_sub(1).and_then(|before| self.cuts.get(before)), self.cuts.get(at), self.cuts.get(at + 1)]
    }
}
