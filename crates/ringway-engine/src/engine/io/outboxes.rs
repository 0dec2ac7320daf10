//! Outboxes of threads that send a few frames a call: when they are due, they go into the queues of this thread's ports.

use ringway::time::monotonic_ns;

use super::super::send::hand_over;
use super::worker::Worker;

impl Worker {
    /// Empties the outboxes for this thread's ports that are due, or all; returns the frames.
    pub(super) fn empty_outboxes(&mut self, all: bool) -> usize {
        let shared = &*self.shared;
        let bound = shared.choices.gather.as_nanos() as u64;
        if bound == 0 {
            return 0;
        }
        let mut moved = 0;
        let mut next = None;
        let now = monotonic_ns();
        for (at, outbox) in shared.outboxes.iter().enumerate().take(shared.holders.rows().len()) {
            let Some((to, since)) = outbox.pending() else { continue };
            let Some(port) = shared.ports.get(usize::from(to)).filter(|port| port.io == self.me) else {
                continue;
            };
            if !all && now.saturating_sub(since) < bound {
                next = Some(next.unwrap_or(u64::MAX).min(since + bound));
                continue;
            }
            // Its owner has it now: it sees itself that it is due.
            let Some(mut opened) = outbox.try_lock() else { continue };
            let Some(block) = opened.block.as_mut() else { continue };
            let before = block.len();
            hand_over(shared, at, to, block, |token| self.home.release(token));
            moved += before - block.len();
            if !block.is_empty() && !port.has_failed() {
                next = Some(now + bound); // the queue is full, and this thread empties it
            }
        }
        self.idle.outbox_due(next);
        moved
    }
}
