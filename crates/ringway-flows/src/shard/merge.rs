//! What several shards of a bundle counted, together.

use super::{EndTally, Tally};

impl EndTally {
    /// Adds the same end of the flows of another worker.
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.complete += other.complete;
        self.active += other.active;
        add(&mut self.failed, &other.failed);
    }
}

impl Tally {
    /// Adds what the shard of another worker counted, for the same bundle.
    pub fn merge(&mut self, other: &Self) {
        let Self { flows, counters, checks, latencies, .. } = other;
        self.flows.iter_mut().flatten().zip(flows.iter().flatten()).for_each(|(sum, part)| sum.merge(part));
        self.counters.iter_mut().zip(counters).for_each(|(sum, part)| add(sum, part));
        add(&mut self.checks, checks);
        add(&mut self.flow_bytes, &other.flow_bytes);
        let all = self.latencies.iter_mut().flatten().zip(latencies.iter().flatten());
        all.for_each(|(sum, part)| sum.merge(part));
        let Self { connections, retransmitted, repeated, early, outside, false_acks, challenged, .. } = other;
        self.connections += connections;
        self.retransmitted += retransmitted;
        self.repeated += repeated;
        self.early += early;
        self.outside += outside;
        self.false_acks += false_acks;
        self.challenged += challenged;
        let Self { nonsense, strays, no_room, frames_out, bytes_out, frames_in, bytes_in, .. } = other;
        self.nonsense += nonsense;
        self.strays += strays;
        add(&mut self.answers, &other.answers);
        self.no_room += no_room;
        self.half_open_dropped += other.half_open_dropped;
        self.unsent_resets += other.unsent_resets;
        self.unsent_probes += other.unsent_probes;
        self.unsent_answers += other.unsent_answers;
        self.frames_out += frames_out;
        self.bytes_out += bytes_out;
        self.frames_in += frames_in;
        self.bytes_in += bytes_in;
        self.instructions += other.instructions;
        self.fuel_exhausted += other.fuel_exhausted;
    }
}

/// Adds number by number.
fn add(sums: &mut [u64], parts: &[u64]) {
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}
