//! From rx rings to queues.

use std::sync::atomic::Ordering::Relaxed;

use ringway::{BufToken, DropReason, RxFrame};

use super::super::lanes::Way;
use super::super::shared::WhenFull;
use super::super::token::{Long, NOWHERE, Token};
use super::flows::FlowOut;
use super::worker::Worker;

impl Worker {
    /// One turn at the rx rings of a port; returns the frames that it took.
    pub(super) fn receive(&mut self, at: usize) -> usize {
        (self.ports[at].held_back, self.ports[at].starved) = (false, false);
        let ended = self.shared.ports[self.ports[at].at].has_ended();
        if ended || !self.is_usable(at) {
            // What it received before still goes to threads.
            if self.deliver(at) && !ended {
                self.note_end(at);
            }
            return 0;
        }
        let mut taken = 0;
        for ring in 0..self.ports[at].port.rx.len() {
            if !self.deliver(at) {
                break;
            }
            match self.ports[at].port.rx[ring].sync() {
                Ok(0) => {}
                Ok(_) => taken += self.take_frames(at, ring),
                Err(e) => return taken + self.failed_to_receive(at, e),
            }
        }
        self.deliver(at);
        if taken == 0 && !self.ports[at].starved {
            self.note_end(at);
        }
        taken
    }

    fn failed_to_receive(&mut self, at: usize, e: ringway::Error) -> usize {
        self.fail(at, e);
        usize::from(self.deliver(at)) // a failure is a turn: the rings are looked at again before a sleep
    }

    /// Takes frames out of a ring, for as long as there is room for them.
    fn take_frames(&mut self, at: usize, ring: usize) -> usize {
        let from = self.ports[at].at as u16;
        let mut left = self.turns.slots() as usize;
        let mut taken = 0;
        while left > 0 && self.deliver_full(at) {
            let room = self.room(at).min(left);
            let count = self.take_some(at, ring, room, from);
            left -= count;
            taken += count;
            if count < room {
                break;
            }
        }
        taken
    }

    /// Takes up to `max` frames, for which there is room.
    fn take_some(&mut self, at: usize, ring: usize, max: usize, from: u16) -> usize {
        let owned = &mut self.ports[at];
        let state = &self.shared.ports[owned.at];
        let mut burst = owned.port.rx[ring].burst(u32::MAX);
        let (mut taken, mut dropped) = (0, 0);
        while taken < max {
            let Some(buf) = self.home.take() else {
                owned.starved = true;
                break;
            };
            let Some(mut frame) = burst.next() else {
                self.home.give(buf);
                break;
            };
            taken += 1;
            match absorb(&mut frame, buf, self.home.region(), from) {
                Ok(token) => {
                    let refused = match &mut self.flows {
                        None => owned.out.push(token).err(),
                        Some(flows) => flows.place(&self.shared, token).err(),
                    };
                    debug_assert!(refused.is_none(), "there is room for `max`");
                    if let Some(token) = refused {
                        self.home.release(token);
                        state.drop_received(DropReason::NoMemory, 1);
                    }
                }
                Err(buf) => {
                    self.home.give(buf);
                    dropped += 1;
                }
            }
        }
        state.received.fetch_add(taken as u64, Relaxed);
        if dropped > 0 {
            state.drop_received(DropReason::BadOffload, dropped);
        }
        taken
    }

    /// Room for frames at once.
    fn room(&self, at: usize) -> usize {
        match &self.flows {
            None => self.ports[at].out.free(),
            Some(_) => 1,
        }
    }

    /// Makes room where there is none; false when there is none to be had.
    fn deliver_full(&mut self, at: usize) -> bool {
        match &self.flows {
            None => self.ports[at].out.free() > 0 || self.deliver(at),
            Some(flows) => !flows.is_held_back() || self.deliver(at),
        }
    }

    /// Puts what was received into queues; false when they are full and the engine waits then.
    pub(super) fn deliver(&mut self, at: usize) -> bool {
        let shared = &*self.shared;
        let Way::Any(inbox) = &shared.way else { return self.deliver_flows(at) };
        let owned = &mut self.ports[at];
        let count = owned.out.len();
        if count == 0 {
            return true;
        }
        let state = &shared.ports[owned.at];
        // Before a thread can count them as taken.
        state.delivered.fetch_add(count as u64, Relaxed);
        if inbox.queue.put(&mut owned.out) {
            inbox.bell.ring();
            return true;
        }
        state.delivered.fetch_sub(count as u64, Relaxed);
        if shared.choices.slow_receiver == WhenFull::Drop {
            state.drop_received(DropReason::QueueFull, self.home.release_all(&mut owned.out));
            return true;
        }
        owned.held_back = true;
        false
    }

    /// Whether received frames may go to receivers now.
    pub(super) fn may_deliver(&mut self) -> bool {
        let (Some(out), Way::Flows(flows)) = (&mut self.flows, &self.shared.way) else { return true };
        out.follow(&self.shared, flows)
    }

    /// Puts all that was received into queues of receivers; false when one is full and the engine waits then.
    fn deliver_flows(&mut self, at: usize) -> bool {
        let Some(out) = &mut self.flows else { return true };
        if out.hand_over_all(&self.shared) {
            return true;
        }
        if self.shared.choices.slow_receiver == WhenFull::Drop {
            let (shared, home) = (&self.shared, &mut self.home);
            out.drop_full(|token| {
                shared.ports[usize::from(token.from)].drop_received(DropReason::QueueFull, 1);
                home.release(token);
            });
            return true;
        }
        self.ports[at].held_back = true;
        false
    }

    /// A port that will receive nothing more, because it failed or its capture was read, and of which all was delivered.
    pub(super) fn note_end(&mut self, at: usize) {
        let in_hand = self.flows.as_ref().map_or(0, FlowOut::held);
        let owned = &mut self.ports[at];
        let state = &self.shared.ports[owned.at];
        let is_over =
            state.has_failed() || (owned.port.ended() && owned.port.rx.iter_mut().all(|rx| rx.avail() == 0));
        if is_over && in_hand == 0 && owned.out.is_empty() {
            state.note_end();
            self.end_if_all_ended();
        }
    }
}

/// Makes a token of a received frame: by exchanging buffers, or by copying from another region. Gives the buffer back for a
/// super-frame that nobody can finish here.
#[inline]
fn absorb(
    frame: &mut RxFrame<'_>,
    mut buf: BufToken,
    region: &ringway::Region,
    from: u16,
) -> Result<Token, BufToken> {
    if frame.offload().is_some() {
        return Err(buf);
    }
    let len = frame.len();
    if frame.exchange_token(&mut buf) {
        return Ok(Token { buf, long: None, len: len as u32, from, to: NOWHERE });
    }
    let bytes = region.token_bytes_mut(&mut buf);
    let long = if len <= bytes.len() {
        frame.copy_to(bytes);
        None
    } else {
        let mut long = vec![0; len];
        frame.copy_to(&mut long);
        Some(Box::new(Long(long)))
    };
    Ok(Token { buf, long, len: len as u32, from, to: NOWHERE })
}
