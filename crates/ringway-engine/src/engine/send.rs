//! From a thread's burst to the queues of ports.

use ringway::DropReason;
use ringway::time::monotonic_ns;

use super::burst::Burst;
use super::port::PortState;
use super::shared::{Shared, WhenFull};
use super::token::{NOWHERE, Token};
use crate::queue::Block;

/// Frames that gather in an outbox, at most: a burst with more goes at once.
const FEW: usize = 32;

impl Burst {
    /// Sends what can be sent now. Frames without a port end here, and frames for which there is no room stay.
    pub(super) fn send_now(&mut self) {
        let to = self.block.tokens().first().map(|first| first.to);
        let Some(to) = to else { return };
        if !self.block.tokens().iter().all(|token| token.to == to) {
            let blocked = self.flush_before();
            self.send_sorted(blocked);
        } else if to == NOWHERE {
            let ended = self.home.release_all(&mut self.block);
            self.row().let_go.add(ended);
        } else if !self.gather(to) && self.flush_before() != Some(to) {
            let Self { shared, at, block, home, .. } = self;
            hand_over(shared, *at, to, block, |token| home.release(token));
        }
        if self.block.is_empty() {
            self.finish_lane();
        }
        self.row().now_holds(self.block.len(), self.home.held());
    }

    /// Sends what gathered; the port of it when there is no room, so that later frames for that port must wait.
    fn flush_before(&mut self) -> Option<u16> {
        let pending = self.shared.outboxes[self.at].pending()?;
        (!self.flush()).then_some(pending.0)
    }

    /// Sends frames of several ports, each port's in order, except to a port that is `blocked`.
    #[cold]
    fn send_sorted(&mut self, blocked: Option<u16>) {
        let Self { shared, at, block, home, sorted, .. } = self;
        while let Some(token) = block.pop() {
            let slot = sorted.get_mut(usize::from(token.to));
            let Some(slot) = slot else {
                home.release(token);
                shared.holders.row(*at).let_go.add(1);
                continue;
            };
            if slot.is_none() {
                *slot = shared.store.block();
            }
            let refused = match slot {
                Some(of_port) => of_port.push(token).err(),
                None => Some(token),
            };
            if let Some(token) = refused {
                // There is a block for each port and thread, each with room for a whole burst.
                home.release(token);
                shared.lose(DropReason::NoMemory, 1);
            }
        }
        for (to, of_port) in sorted.iter_mut().enumerate() {
            let Some(of_port) = of_port.as_mut().filter(|of_port| !of_port.is_empty()) else { continue };
            if blocked != Some(to as u16) {
                hand_over(shared, *at, to as u16, of_port, |token| home.release(token));
            }
            while let Some(token) = of_port.pop() {
                let _ = block.push(token); // there is room: they all were in it
            }
        }
    }

    /// Puts a few frames into the outbox, if the engine gathers; false when they go at once.
    fn gather(&mut self, to: u16) -> bool {
        let bound = self.shared.choices.gather;
        if bound.is_zero() || self.block.len() > FEW {
            return false;
        }
        let outbox = &self.shared.outboxes[self.at];
        let fits = outbox.pending().is_none_or(|(port, _)| port == to);
        if !fits && !self.flush() {
            return false;
        }
        let Self { shared, at, block, home, .. } = self;
        let (shared, now) = (&**shared, monotonic_ns());
        let mut opened = shared.outboxes[*at].lock();
        if opened.block.is_none() {
            *opened.block = shared.store.block();
        }
        let Some(gathered) = opened.block.as_mut() else { return false };
        if gathered.free() < block.len() {
            hand_over(shared, *at, to, gathered, |token| home.release(token));
        }
        if gathered.free() < block.len() {
            return false;
        }
        let first = gathered.is_empty();
        while let Some(token) = block.pop() {
            let _ = gathered.push(token); // there is room
        }
        let full = gathered.free() == 0;
        let since = shared.outboxes[*at].pending().map_or(now, |(_, since)| since);
        if full || !first && now.saturating_sub(since) >= bound.as_nanos() as u64 {
            hand_over(shared, *at, to, gathered, |token| home.release(token));
        } else if first {
            opened.begin(to, now);
            drop(opened);
            shared.io[shared.ports[usize::from(to)].io].bell.ring();
        }
        true
    }

    /// Sends what gathered; false when there is no room.
    pub(super) fn flush(&mut self) -> bool {
        let Self { shared, at, home, .. } = self;
        let outbox = &shared.outboxes[*at];
        let Some((to, _)) = outbox.pending() else { return true };
        let mut opened = outbox.lock();
        let Some(gathered) = opened.block.as_mut() else { return true };
        hand_over(shared, *at, to, gathered, |token| home.release(token));
        gathered.is_empty()
    }
}

/// Puts frames into the queue of a port. Frames that can't ever go there are dropped by name; frames for which there is no
/// room stay, unless the engine drops them.
#[inline]
pub(super) fn hand_over(
    shared: &Shared,
    at: usize,
    to: u16,
    block: &mut Block<Token>,
    release: impl FnMut(Token),
) {
    let Some(port) = shared.ports.get(usize::from(to)) else { return };
    if block.is_empty() || (!port.has_failed() && shared.put(port, block, shared.holders.row(at))) {
        return;
    }
    refused(shared, port, block, release);
}

#[cold]
fn refused(shared: &Shared, port: &PortState, block: &mut Block<Token>, mut release: impl FnMut(Token)) {
    let why = match (port.has_failed(), shared.choices.slow_port) {
        (true, _) => DropReason::PortFailed,
        (false, WhenFull::Drop) => DropReason::QueueFull,
        (false, WhenFull::Wait) => return,
    };
    let mut count = 0;
    while let Some(token) = block.pop() {
        release(token);
        count += 1;
    }
    shared.lose(why, count);
}
