//! From queues to tx rings.

use std::sync::atomic::Ordering::Relaxed;

use ringway::{DropReason, TxRing};

use super::super::home::Home;
use super::super::token::Token;
use super::worker::Worker;
use crate::queue::{Block, Queue};

/// What became of the frames of one turn.
#[derive(Default)]
struct Turn {
    sent: usize,
    too_long: usize,
    /// Blocks that came out of the queue.
    blocks: u32,
}

impl Worker {
    /// One turn at the tx rings of a port; returns the frames that left.
    pub(super) fn transmit(&mut self, at: usize) -> usize {
        let index = self.ports[at].at;
        if self.shared.ports[index].has_failed() {
            return self.discard(at, DropReason::PortFailed);
        }
        if !self.is_usable(at) {
            return 0;
        }
        let owned = &mut self.ports[at];
        let state = &self.shared.ports[index];
        // One ring, though the port may have more: so frames keep their order.
        let Some(tx) = owned.port.tx.first_mut() else { return self.discard(at, DropReason::DeviceRefused) };
        let turn = fill(tx, &mut owned.sending, &state.queue, &mut self.home, self.turns.slots() as usize);
        let synced = if tx.pending() > 0 { tx.sync().map(|_| ()) } else { Ok(()) };
        if turn.sent > 0 {
            state.sent.fetch_add(turn.sent as u64, Relaxed);
        }
        if turn.too_long > 0 {
            state.drop_sent(DropReason::TooLong, turn.too_long);
        }
        if turn.blocks > 0 {
            state.room.ring_for(turn.blocks);
        }
        if let Err(e) = synced {
            self.fail(at, e);
        }
        turn.sent + turn.too_long
    }

    /// Drops what waits for a port that can't send.
    fn discard(&mut self, at: usize, why: DropReason) -> usize {
        let owned = &mut self.ports[at];
        let state = &self.shared.ports[owned.at];
        let mut count = self.home.release_all(&mut owned.sending);
        while state.queue.take(&mut owned.sending) {
            count += self.home.release_all(&mut owned.sending);
        }
        if count > 0 {
            state.drop_sent(why, count);
            state.room.ring_for(u32::MAX);
        }
        count
    }
}

/// Fills free slots of a ring with frames of the queue, `max` at most.
fn fill(
    tx: &mut TxRing,
    sending: &mut Block<Token>,
    queue: &Queue<Token>,
    home: &mut Home,
    max: usize,
) -> Turn {
    let mut turn = Turn::default();
    let slots = tx.slots() - 1;
    let longest = slots.min(64) as usize * tx.region().buf_size() as usize;
    let exchanges = tx.region().ptr_eq(home.region());
    let mut burst = tx.burst();
    while turn.sent < max {
        if sending.is_empty() {
            if !queue.take(sending) {
                break;
            }
            turn.blocks += 1;
        }
        let Some(next) = sending.tokens().first() else { break };
        if !exchanges || next.long.is_some() {
            let fits = next.len as usize <= longest;
            if fits && !burst.push(next.bytes(home.region())) {
                break; // no room now
            }
            turn.sent += usize::from(fits);
            turn.too_long += usize::from(!fits);
            sending.pop().into_iter().for_each(|token| home.release(token));
            continue;
        }
        let Some(mut slot) = burst.next_slot() else { break };
        let Some(mut token) = sending.pop() else { break };
        slot.exchange_token(&mut token.buf);
        slot.send(token.len as usize);
        home.give(token.buf);
        turn.sent += 1;
    }
    burst.commit();
    turn
}
