//! A wire.

use super::{Device, Inbox};
use crate::trial::ledger::Arrivals;
use crate::trial::port::Train;

/// A link that loses nothing: what leaves at line rate arrives at line rate, a fixed time later.
///
/// Its speed is that of the tester's ports, which never send faster; so the time is all there is to it.
#[derive(Clone, Debug)]
pub struct Link {
    delay_ps: u64,
}

impl Link {
    /// A wire that each bit needs `delay_ps` for.
    #[must_use]
    pub fn new(delay_ps: u64) -> Self {
        Self { delay_ps }
    }
}

impl Device for Link {
    fn carry(&mut self, train: &Train<'_>, inbox: &mut Inbox) {
        inbox.run(on_time(train, 0, train.count, self.delay_ps));
    }
}

/// Frames `from..to` of a train that all arrive `delay_ps` after they left.
pub(super) fn on_time(train: &Train<'_>, from: u64, to: u64, delay_ps: u64) -> Arrivals {
    let at = |k| train.leaves_ps(k) + delay_ps;
    Arrivals {
        stream: train.stream,
        first: train.first + from,
        span: to - from,
        received: to - from,
        at_ps: (at(from), at(to - 1)),
        latency_ps: (delay_ps, delay_ps),
        gap_ps: longest_gap(train, from, to),
        last_missing: None,
    }
}

/// Longest time between two frames of `from..to`, to the picosecond: sizes repeat, and with them gaps.
fn longest_gap(train: &Train<'_>, from: u64, to: u64) -> u64 {
    let gaps = (from..to - 1).take(train.schedule.mix().cycle());
    gaps.map(|k| train.leaves_ps(k + 1) - train.leaves_ps(k)).max().unwrap_or(0)
}
