//! What each worker of a run did.

use serde::Serialize;

use crate::code::Bundle;

use super::counted::Counted;
use super::counts::Counts;

/// A worker. The numbers of all workers add up to the numbers of the run.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerReport {
    /// Flows of stories that it began.
    pub started: u64,
    /// Complete ones.
    pub complete: u64,
    /// Failed ones.
    pub failed: u64,
    /// Flows that ran at the end.
    pub active: u64,
    /// Frames sent.
    pub packets_out: u64,
    /// Frames received.
    pub packets_in: u64,
    /// Instructions that ran.
    pub instructions: u64,
    /// Starts that were late.
    pub postponed: u64,
    /// Starts that were due and not made.
    pub missed: u64,
    /// Frames that it passed on to the workers that own their connections, and that these took.
    pub passed_on: u64,
    /// Frames that were lost, because their owner had no room for them, or ended before it took them.
    pub passed_lost: u64,
    /// The share of rounds that found work.
    pub busy: f64,
}

impl WorkerReport {
    pub(super) fn new(bundle: &Bundle, counted: &Counted, rounds: &Counts) -> Self {
        let counts = Counts::of(bundle, &counted.tally);
        Self {
            started: counts.flows.started,
            complete: counts.flows.complete,
            failed: counts.flows.failed,
            active: counts.flows.active,
            packets_out: counts.frames_out,
            packets_in: counts.frames_in,
            instructions: counted.tally.instructions,
            postponed: counted.postponed,
            missed: counted.missed,
            passed_on: counted.passed,
            passed_lost: counted.lost,
            busy: if rounds.rounds > 0 { rounds.busy as f64 / rounds.rounds as f64 } else { 0.0 },
        }
    }
}
