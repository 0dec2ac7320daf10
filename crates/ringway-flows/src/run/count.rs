//! Flows as both of their ends saw them.

use crate::code::{Bundle, Kind};
use crate::shard::{EndTally, Tally};

/// Flows of one story, or of several: `started = complete + failed + active`.
///
/// Where both ends run here, a flow is complete when both of its ends are. Where one runs here, that one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Flows that began.
    pub started: u64,
    /// Flows of which each end is complete.
    pub complete: u64,
    /// Flows of which an end failed.
    pub failed: u64,
    /// Flows that run.
    pub active: u64,
}

impl Flows {
    /// The flows of one story.
    pub fn of(ends: &[EndTally; 2]) -> Self {
        let [client, server] = ends;
        let own = |end: &EndTally| (end.complete, end.all_failed());
        let (started, (complete, failed)) = match (client.started, server.started) {
            (0, started) => (started, own(server)),
            (started, 0) => (started, own(client)),
            (started, _) => {
                let complete = client.complete.min(server.complete);
                // What failed at the server alone: its clients believe that they are complete.
                let there = server.all_failed().min(client.complete - complete);
                (started, (complete, client.all_failed() + there))
            }
        };
        Self { started, complete, failed, active: started.saturating_sub(complete + failed) }
    }

    /// The flows of all stories, without attacks.
    pub fn of_stories(bundle: &Bundle, tally: &Tally) -> Self {
        let stories = bundle.flows.iter().zip(&tally.flows).filter(|(flow, _)| flow.kind == Kind::Story);
        stories.map(|(_, ends)| Self::of(ends)).fold(Self::default(), Self::plus)
    }

    /// The sum of two stories, or of two workers.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            started: self.started + other.started,
            complete: self.complete + other.complete,
            failed: self.failed + other.failed,
            active: self.active + other.active,
        }
    }

    /// The share of started flows that are complete; 1 without any.
    pub fn completion(&self) -> f64 {
        if self.started == 0 { 1.0 } else { self.complete as f64 / self.started as f64 }
    }
}

/// A number for each second. 0 without time.
pub(super) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(started: u64, complete: u64, timeout: u64) -> EndTally {
        let mut end =
            EndTally { started, complete, active: started - complete - timeout, ..EndTally::default() };
        end.failed[0] = timeout;
        end
    }

    #[test]
    fn a_flow_is_complete_when_both_ends_are() {
        for (client, server, complete, failed, active) in [
            (end(10, 10, 0), end(10, 9, 0), 9, 0, 1),
            (end(10, 9, 1), end(10, 7, 2), 7, 3, 0),
            (end(10, 4, 1), end(10, 4, 6), 4, 1, 5),
            (end(10, 10, 0), end(0, 0, 0), 10, 0, 0),
            (end(0, 0, 0), end(10, 4, 5), 4, 5, 1),
            // An attack opens connections that a story's server took.
            (end(10, 10, 0), end(50, 10, 40), 10, 0, 0),
        ] {
            let flows = Flows::of(&[client, server]);
            let right = Flows { started: 10, complete, failed, active };
            assert_eq!(flows, right);
        }
        assert_eq!(Flows::default().completion(), 1.0);
    }
}
