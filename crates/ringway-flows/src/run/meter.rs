//! What is kept of a run while it goes: the steady state, and how many flows run.

use crate::code::Bundle;
use crate::shard::Tally;

use super::count::Flows;
use super::cuts::Cuts;
use super::steady;

/// What the steady state had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steady {
    /// How long it lasted, in ns.
    pub ns: u64,
    /// By flow: complete ones.
    pub complete: Vec<u64>,
    /// Connections that came to be.
    pub connections: u64,
    /// Frames sent.
    pub frames_out: u64,
    /// Bytes of these frames.
    pub bytes_out: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Bytes of these frames.
    pub bytes_in: u64,
}

/// Sums of a run.
#[derive(Debug)]
pub struct Meter {
    spans: Vec<(u64, u64)>,
    /// The span that begins next, or goes on.
    at: usize,
    /// When the present span began, and what was counted then.
    open: Option<(u64, Steady)>,
    sum: Steady,
    last_ns: u64,
    last_active: u64,
    /// Flows times nanoseconds.
    active_ns: u128,
    most_active: u64,
    cuts: Cuts,
}

impl Meter {
    /// For a run of a bundle that begins at `start` ns.
    pub fn new(bundle: &Bundle, start: u64) -> Self {
        Self::over(steady::spans(bundle), bundle.flows.len(), start).around_attacks(bundle)
    }

    /// For so many flows, of which these times, from start to end in ns, are measured.
    pub fn over(spans: Vec<(u64, u64)>, flows: usize, start: u64) -> Self {
        Self {
            spans,
            at: 0,
            open: None,
            sum: Steady { complete: vec![0; flows], ..Steady::default() },
            last_ns: start,
            last_active: 0,
            active_ns: 0,
            most_active: 0,
            cuts: Cuts::default(),
        }
    }

    /// Notes also what is counted when the attacks of a bundle begin and end.
    #[must_use]
    pub fn around_attacks(self, bundle: &Bundle) -> Self {
        Self { cuts: Cuts::of(bundle), ..self }
    }

    /// The sums when attacks began and ended.
    pub(super) fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    /// To be called in each round before anything happens at `now`.
    #[inline]
    pub fn advance(&mut self, now: u64, tally: &Tally) {
        self.active_ns += u128::from(self.last_active) * u128::from(now.saturating_sub(self.last_ns));
        self.last_ns = now;
        self.cuts.advance(now, tally);
        while let Some(&(from, to)) = self.spans.get(self.at)
            && now >= from
        {
            self.open.get_or_insert_with(|| (from, count(tally)));
            if now < to {
                break;
            }
            self.close(to, tally);
            self.at += 1;
        }
    }

    /// To be called in each round after flows began and ended.
    #[inline]
    pub fn note_active(&mut self, tally: &Tally) {
        self.last_active = running(tally);
        self.most_active = self.most_active.max(self.last_active);
    }

    /// The run ends.
    pub fn end(&mut self, now: u64, tally: &Tally) {
        self.advance(now, tally);
        self.close(now, tally);
        self.at = self.spans.len();
        self.cuts.end(now, tally);
    }

    fn close(&mut self, at: u64, tally: &Tally) {
        let Some((from, before)) = self.open.take() else { return };
        let (now, sum) = (count(tally), &mut self.sum);
        sum.ns += at.saturating_sub(from);
        let complete =
            now.complete.iter().zip(&before.complete).map(|(now, before)| now.saturating_sub(*before));
        sum.complete.iter_mut().zip(complete).for_each(|(sum, part)| *sum += part);
        sum.connections += now.connections - before.connections;
        sum.frames_out += now.frames_out - before.frames_out;
        sum.bytes_out += now.bytes_out - before.bytes_out;
        sum.frames_in += now.frames_in - before.frames_in;
        sum.bytes_in += now.bytes_in - before.bytes_in;
    }

    /// Adds another worker, which ran at the same time. The most flows are an upper bound then.
    pub(super) fn merge(&mut self, other: &Self) {
        let (sum, part) = (&mut self.sum, &other.sum);
        sum.ns = sum.ns.max(part.ns);
        sum.complete.iter_mut().zip(&part.complete).for_each(|(sum, part)| *sum += part);
        sum.connections += part.connections;
        sum.frames_out += part.frames_out;
        sum.bytes_out += part.bytes_out;
        sum.frames_in += part.frames_in;
        sum.bytes_in += part.bytes_in;
        self.last_ns = self.last_ns.max(other.last_ns);
        self.active_ns += other.active_ns;
        self.most_active += other.most_active;
        self.cuts.merge(&other.cuts);
    }

    /// What is known better of the most flows at the same time.
    pub(super) fn bound_active(&mut self, most: u64) {
        self.most_active = self.most_active.min(most);
    }

    /// What the steady state had until its last end.
    pub fn steady(&self) -> &Steady {
        &self.sum
    }

    /// The mean number of flows until `now`, from the start of the run.
    pub fn mean_active(&self, start: u64) -> f64 {
        let ns = self.last_ns.saturating_sub(start);
        if ns == 0 { 0.0 } else { self.active_ns as f64 / ns as f64 }
    }

    /// Most flows at the same time.
    pub fn most_active(&self) -> u64 {
        self.most_active
    }
}

/// Flows that run: clients, or servers where no client does.
fn running(tally: &Tally) -> u64 {
    let [clients, servers] = [0, 1].map(|end: usize| {
        tally
            .flows
            .iter()
            .fold((0, 0), |(started, active), ends| (started + ends[end].started, active + ends[end].active))
    });
    if clients.0 > 0 { clients.1 } else { servers.1 }
}

/// What was counted until now.
fn count(tally: &Tally) -> Steady {
    Steady {
        ns: 0,
        complete: tally.flows.iter().map(|ends| Flows::of(ends).complete).collect(),
        connections: tally.connections,
        frames_out: tally.frames_out,
        bytes_out: tally.bytes_out,
        frames_in: tally.frames_in,
        bytes_in: tally.bytes_in,
    }
}
