//! Neighbours in use: the kernel does not see what the fast path sends, so it is asked to look whether they are still there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ringway_fib::NextHop;
use ringway_fwd::control::{Follower, Resolver, Verdict};

/// From one walk over all next hops to the next.
const EVERY: Duration = Duration::from_secs(5);

/// Next hops looked at in one turn, and how long it may take: each question waits for the kernel.
const STEP: usize = 1024;
const LONGEST: Duration = Duration::from_millis(100);

/// A walk over the counters of all next hops.
#[derive(Debug)]
pub(crate) struct Examiner {
    /// Packets at the last look.
    seen: HashMap<NextHop, u64>,
    left: Vec<NextHop>,
    next: Instant,
}

impl Examiner {
    pub(crate) fn new(now: Instant) -> Self {
        Self { seen: HashMap::new(), left: Vec::new(), next: now + EVERY }
    }

    /// When there is something to do again.
    pub(crate) fn due(&self, now: Instant) -> Instant {
        if self.left.is_empty() { self.next } else { now }
    }

    /// A part of the walk; `packets` tells the packets of a next hop.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        follower: &mut Follower,
        resolver: &Resolver,
        packets: impl Fn(NextHop) -> u64,
    ) {
        if self.left.is_empty() {
            if now < self.next {
                return;
            }
            self.left = resolver.in_use();
            self.next = now + EVERY;
            let known: std::collections::HashSet<_> = self.left.iter().copied().collect();
            self.seen.retain(|next_hop, _| known.contains(next_hop));
        }
        let begun = Instant::now();
        for _ in 0..STEP {
            if begun.elapsed() > LONGEST {
                return;
            }
            let Some(next_hop) = self.left.pop() else { return };
            let Some(entry) = resolver.entry(next_hop).filter(|e| e.verdict() == Verdict::Ready) else {
                continue;
            };
            let n = packets(next_hop);
            if self.seen.insert(next_hop, n).unwrap_or(0) != n
                && let Some(gateway) = entry.gateway()
            {
                // refused when the kernel has forgotten it meanwhile: a message tells so
                let _ = follower.examine(entry.egress(), gateway);
            }
        }
    }
}
