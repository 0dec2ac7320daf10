//! Sums of a run until a time.

use crate::code::{Bundle, Kind};
use crate::shard::Tally;

use super::count::Flows;

/// What one worker counted until a time, or all of them. Flows of attacks are apart; their frames are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Flows of stories.
    pub flows: Flows,
    /// Packets and flows of attacks that began.
    pub attacks: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Bytes of these frames.
    pub bytes_out: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Bytes of these frames.
    pub bytes_in: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Rounds of the workers.
    pub rounds: u64,
    /// Rounds that found work.
    pub busy: u64,
}

impl Counts {
    /// What a shard counted. Rounds are not known here.
    pub fn of(bundle: &Bundle, tally: &Tally) -> Self {
        let attacks = bundle.flows.iter().zip(&tally.flows).filter(|(flow, _)| flow.kind == Kind::Attack);
        Self {
            flows: Flows::of_stories(bundle, tally),
            attacks: attacks.map(|(_, ends)| Flows::of(ends).started).sum(),
            frames_out: tally.frames_out,
            bytes_out: tally.bytes_out,
            frames_in: tally.frames_in,
            bytes_in: tally.bytes_in,
            retransmitted: tally.retransmitted,
            ..Self::default()
        }
    }

    /// The sum of two workers.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            flows: self.flows.plus(other.flows),
            attacks: self.attacks + other.attacks,
            frames_out: self.frames_out + other.frames_out,
            bytes_out: self.bytes_out + other.bytes_out,
            frames_in: self.frames_in + other.frames_in,
            bytes_in: self.bytes_in + other.bytes_in,
            retransmitted: self.retransmitted + other.retransmitted,
            rounds: self.rounds + other.rounds,
            busy: self.busy + other.busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::example::{ASK, bundle};

    #[test]
    fn attacks_are_no_stories() {
        let flood = "attack flood(target) { raw tcp inside* -> target : 80  flags S  no_reply }
            run { ask rate 1 k flows/s for 1 s  flood rate 1 k pkt/s from 0 s to 1 s target 198.19.0.1 }";
        let bundle = bundle(&format!("{ASK}\n{flood}"));
        let mut tally = Tally { flows: vec![Default::default(); 2], frames_out: 7, ..Tally::default() };
        for (end, started) in [(0, 5), (1, 9)] {
            (tally.flows[end][0].started, tally.flows[end][0].active) = (started, started);
        }
        let counts = Counts::of(&bundle, &tally);
        assert_eq!((counts.flows.started, counts.attacks, counts.frames_out), (5, 9, 7));
        let both = counts.plus(&counts);
        assert_eq!((both.flows.active, both.attacks, both.frames_out), (10, 18, 14));
    }
}
