//! What workers tell while they run, and the sum of it.

use crate::code::Bundle;
use crate::shard::{Failure, Latency, Tally};

use super::count::Flows;
use super::counts::Counts;
use super::history::History;
use super::report::Ended;
use super::second::Second;

/// How often a worker tells its numbers.
pub(super) const TICK_NS: u64 = 100_000_000;
/// In the first tick of a second it tells of each flow, too.
pub(super) const SECOND: u64 = 1_000_000_000 / TICK_NS;

/// A message of a worker.
#[derive(Debug)]
pub(super) enum News {
    /// What it counted until now.
    Tick { worker: usize, tick: u64, now: u64, counts: Counts, flows: Vec<FlowNow> },
    /// It has nothing more to do.
    Over { worker: usize, ended: Ended },
    /// Its thread has ended.
    Gone,
}

/// A story or attack until now.
#[derive(Clone, Debug, Default)]
pub struct FlowNow {
    /// Its flows.
    pub flows: Flows,
    /// Ends that failed, by [`Failure`].
    pub failed: [u64; Failure::ALL.len()],
    /// How long its flows took.
    pub took: Latency,
}

impl FlowNow {
    /// All flows of a bundle.
    pub(super) fn all(tally: &Tally) -> Vec<Self> {
        let one = |(at, [client, server]): (usize, &[crate::shard::EndTally; 2])| {
            let mut failed = client.failed;
            failed.iter_mut().zip(server.failed).for_each(|(sum, part)| *sum += part);
            let took = tally.whole_flow(at).cloned().unwrap_or_default();
            Self { flows: Flows::of(&[client.clone(), server.clone()]), failed, took }
        };
        tally.flows.iter().enumerate().map(one).collect()
    }

    fn merge(&mut self, other: &Self) {
        self.flows = self.flows.plus(other.flows);
        self.failed.iter_mut().zip(other.failed).for_each(|(sum, part)| *sum += part);
        self.took.merge(&other.took);
    }
}

/// The numbers of a run while it goes.
#[derive(Debug)]
pub struct Now<'a> {
    /// What the run runs.
    pub bundle: &'a Bundle,
    /// The last second.
    pub second: Second,
    /// By flow: until now.
    pub flows: &'a [FlowNow],
    /// The run until now.
    pub history: &'a History,
}

/// Puts together what the workers tell.
#[derive(Debug)]
pub(super) struct Progress {
    /// By worker: its last tick, what it counted until then, and what it last told of each flow.
    workers: Vec<(u64, Counts, Vec<FlowNow>)>,
    /// The last tick that all workers have told.
    tick: u64,
    /// Where the last second ended.
    second: (u64, Counts),
    pub(super) history: History,
}

impl Progress {
    pub(super) fn new(workers: usize) -> Self {
        let mut history = History::new(TICK_NS / 2);
        history.push(0, Counts::default());
        Self { workers: vec![Default::default(); workers], tick: 0, second: Default::default(), history }
    }

    /// The sums of all workers.
    pub(super) fn sum(&self) -> Counts {
        self.workers.iter().fold(Counts::default(), |sum, (_, counts, _)| sum.plus(counts))
    }

    /// By worker: what it counted.
    pub(super) fn each(&self) -> impl Iterator<Item = &Counts> {
        self.workers.iter().map(|(_, counts, _)| counts)
    }

    /// A worker told its numbers. A second, when one is over.
    pub(super) fn tick(
        &mut self,
        worker: usize,
        tick: u64,
        now: u64,
        counts: Counts,
        flows: Vec<FlowNow>,
    ) -> Option<Second> {
        let place = self.workers.get_mut(worker)?;
        (place.0, place.1) = (tick, counts);
        if !flows.is_empty() {
            place.2 = flows;
        }
        let all = self.workers.iter().map(|(tick, ..)| *tick).min().unwrap_or(0);
        if all <= self.tick {
            return None;
        }
        let is_second = all / SECOND > self.tick / SECOND;
        self.tick = all;
        let sum = self.sum();
        self.history.push(now, sum);
        is_second.then(|| {
            let second = Second::between(&self.second, &(now, sum));
            self.second = (now, sum);
            second
        })
    }

    /// By flow: the sum of all workers, as they last told.
    pub(super) fn flows(&self) -> Vec<FlowNow> {
        let mut sum: Vec<FlowNow> = Vec::new();
        for (.., flows) in &self.workers {
            if sum.is_empty() {
                sum.clone_from(flows);
            } else {
                sum.iter_mut().zip(flows).for_each(|(sum, part)| sum.merge(part));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_over_when_all_workers_have_told_it() {
        let mut progress = Progress::new(2);
        let counts = |frames_out| Counts { frames_out, ..Counts::default() };
        let flow = |started| FlowNow { flows: Flows { started, ..Flows::default() }, ..FlowNow::default() };
        assert_eq!(progress.tick(0, 10, 1_000_000_000, counts(30), vec![flow(3)]), None);
        assert_eq!(progress.tick(1, 9, 900_000_000, counts(10), vec![]), None);
        let second = progress.tick(1, 10, 1_000_000_000, counts(20), vec![flow(4)]).unwrap();
        assert_eq!((second.packets_out, second.seconds), (50.0, 1.0));
        assert_eq!((progress.flows()[0].flows.started, progress.sum().frames_out), (7, 50));
        let times: Vec<u64> = progress.history.samples().iter().map(|(ns, _)| *ns).collect();
        assert_eq!(times, [0, 900_000_000, 1_000_000_000]);
        assert_eq!(progress.tick(0, 11, 1_100_000_000, counts(31), vec![]), None);
        assert_eq!(progress.tick(9, 11, 1_100_000_000, counts(31), vec![]), None, "no such worker");
    }
}
