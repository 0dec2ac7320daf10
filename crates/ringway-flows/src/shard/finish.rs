//! Connections and flows end, in order or not.

use crate::code::{Answer, End, Instr, Op};
use crate::machine::context::{NO_ID, mark as context_mark};
use crate::transport::conn::{State, mark};
use crate::transport::input::Over;
use crate::transport::queue::{Origin, Piece};

use super::endpoint::Owner;
use super::run::Input;
use super::{Failure, Shard, Wire};

impl Shard {
    /// TCP is done with a connection.
    pub(super) fn end_connection(&mut self, id: u32, how: Over, now: u64, wire: &mut impl Wire) {
        let owner = self.endpoints[id].owner;
        if owner.is_nobody() {
            return self.release_unless_blocked(id);
        }
        match how {
            Over::Closed | Over::Reopened => {
                if !self.wake_for(id, &mut Input::default(), now, wire) {
                    return;
                }
                if self.belongs(id, owner) {
                    // The program is not at its close: it finds the slot closed later.
                    self.detach(id);
                }
                if self.endpoints[id].owner.is_nobody() {
                    self.release_unless_blocked(id);
                }
            }
            Over::Reset => self.was_reset(id, owner, now, wire),
            Over::Refused => self.fail_endpoint(id, Failure::Refused, now, wire),
        }
    }

    /// A server answered a SYN. If that makes too many half-open connections, the oldest one goes: its peer hears nothing.
    pub(super) fn half_opened(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let Self { backlog, endpoints, .. } = self;
        if let Some(oldest) = backlog.enter(id, endpoints) {
            self.tally.half_open_dropped += 1;
            self.fail_endpoint(oldest, Failure::NoMemory, now, wire);
        }
    }

    /// A connection is closed from here on.
    pub(super) fn shut(&mut self, id: u32) {
        let was = std::mem::replace(&mut self.endpoints[id].tcp.state, State::Closed);
        self.backlog.changed(was, State::Closed);
    }

    /// A connection goes, unless its last acknowledgement waits for a slot of a ring: the timer ends it when that has gone.
    fn release_unless_blocked(&mut self, id: u32) {
        let tcp = &self.endpoints[id].tcp;
        if !(tcp.is(mark::BLOCKED) && tcp.state == State::TimeWait) {
            self.release(id);
        }
    }

    /// The peer sent a reset: what the program waits for, or a failure.
    fn was_reset(&mut self, id: u32, owner: Owner, now: u64, wire: &mut impl Wire) {
        let expected = self.waiting(owner, Op::ExpectRst);
        match expected {
            Some(context) => {
                self.detach(id);
                self.release(id);
                self.contexts[context].set(context_mark::EXPIRED);
                self.wake(context, &mut Input::default(), now, wire);
            }
            None => self.fail_endpoint(id, Failure::Reset, now, wire),
        }
    }

    /// The context of an owner that waits at an operation on the owner's slot.
    fn waiting(&self, owner: Owner, op: Op) -> Option<u32> {
        self.members_of(owner.context()).into_iter().flatten().find(|&id| {
            let instr = self.instruction(id);
            instr.op == op && instr.a == owner.slot()
        })
    }

    /// The instruction at which a context stands.
    pub(super) fn instruction(&self, id: u32) -> Instr {
        self.programs.fetch(self.contexts[id].pc)
    }

    /// The flow of a connection failed at this end.
    pub(super) fn fail_endpoint(&mut self, id: u32, why: Failure, now: u64, wire: &mut impl Wire) {
        let owner = self.endpoints[id].owner;
        self.shut(id);
        if owner.is_nobody() {
            return self.release(id);
        }
        match self.waiting(owner, Op::Probe) {
            Some(context) => self.answer_probe(context, id, why, now, wire),
            None => self.fail(owner.context(), why, now, wire),
        }
    }

    /// An attempt to connect failed, and the program wants to know how.
    fn answer_probe(&mut self, context: u32, id: u32, why: Failure, now: u64, wire: &mut impl Wire) {
        let answer = match why {
            Failure::Refused | Failure::Reset => Answer::Closed,
            Failure::Unreachable => Answer::Unreachable,
            _ => Answer::Filtered,
        };
        self.detach(id);
        self.release(id);
        self.write(context, self.instruction(context).high(), answer as u64);
        self.contexts[context].advance();
        self.wake(self.main_of(context), &mut Input::default(), now, wire);
    }

    /// A flow failed at this end: its connections are reset, and it is counted.
    #[cold]
    pub(super) fn fail(&mut self, id: u32, why: Failure, now: u64, wire: &mut impl Wire) {
        let id = self.main_of(id);
        let (flow, end) = (self.contexts[id].flow, self.contexts[id].end());
        for slot in 0..self.slots_of(id) {
            let endpoint = self.slot(id, slot);
            if endpoint == NO_ID {
                continue;
            }
            self.abort(endpoint, now, wire);
            self.detach(endpoint);
            self.release(endpoint);
        }
        let tally = &mut self.tally.flows[usize::from(flow)][end as usize];
        tally.failed[why as usize] += 1;
        tally.active -= 1;
        self.forget(id);
    }

    /// The program of an end, or of a branch, ran to its end.
    pub(super) fn done(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        if self.contexts[id].is(context_mark::BRANCH) {
            return self.branch_done(id, now, wire);
        }
        let (flow, end) = (self.contexts[id].flow, self.contexts[id].end());
        for slot in 0..self.slots_of(id) {
            self.let_go(self.slot(id, slot), now, wire);
        }
        let started = self.contexts[id].started;
        self.latency(flow, end, super::tally::FLOW, super::run::micros(now).wrapping_sub(started));
        let tally = &mut self.tally.flows[usize::from(flow)][end as usize];
        (tally.complete, tally.active) = (tally.complete + 1, tally.active - 1);
        self.forget(id);
    }

    /// The program is done with a connection, if there is one.
    pub(super) fn let_go(&mut self, endpoint: u32, now: u64, wire: &mut impl Wire) {
        if endpoint == NO_ID {
            return;
        }
        self.detach(endpoint);
        // After a FIN of this end, TCP goes on by itself. A connection that the program never took is reset.
        if !self.endpoints[endpoint].tcp.is(mark::FIN_QUEUED) {
            self.abort(endpoint, now, wire);
        }
        if self.endpoints[endpoint].owner.is_udp() || self.endpoints[endpoint].tcp.state == State::Closed {
            self.release(endpoint);
        }
    }

    /// A connection is no longer its program's. TCP may still have something to do for it.
    pub(super) fn detach(&mut self, endpoint: u32) {
        let record = &mut self.endpoints[endpoint];
        let owner = record.owner;
        record.owner = owner.without_program();
        if !owner.is_nobody() {
            self.set_slot(owner.context(), owner.slot(), NO_ID);
        }
    }

    /// An endpoint goes.
    pub(super) fn release(&mut self, id: u32) {
        if self.watched == id {
            self.watched = NO_ID;
        }
        self.back.take_if(|back| back.endpoint == id);
        self.leave(id);
        self.cancel_endpoint(id);
        let record = self.endpoints[id];
        if record.queue != NO_ID {
            self.drop_queue(record.queue);
        }
        if record.incoming != NO_ID {
            self.drop_incoming(record.incoming);
        }
        self.endpoints[id].incoming = NO_ID;
        self.shut(id);
        if record.owner.has_port() {
            self.give_port(record.tuple.local, record.tuple.local_port);
        }
        self.endpoints.give(id);
    }

    /// Takes an endpoint out of the table.
    pub(super) fn leave(&mut self, id: u32) {
        let record = &self.endpoints[id];
        let hash = self.places.hash(record.tuple.words(record.owner.is_udp()));
        self.table.remove(hash, id);
        self.listeners -= u32::from(record.tuple.is_listener());
    }

    /// Gives a queue back, with the blocks of its pieces.
    pub(super) fn drop_queue(&mut self, queue: u32) {
        let Self { queues, blocks, .. } = self;
        let end = queues[queue].queue.end;
        queues[queue].queue.acknowledge(end, |piece| free(blocks, piece));
        queues.give(queue);
    }

    /// Gives a context back, with its registers and branches.
    pub(super) fn forget(&mut self, id: u32) {
        for branch in self.branches_of(id).into_iter().flatten() {
            self.forget_one(branch);
        }
        let context = self.contexts[id];
        if context.is(context_mark::ROW) {
            self.rows.give(context.slots);
        }
        self.registers.give(context.registers);
        self.forget_one(id);
    }

    pub(super) fn forget_one(&mut self, id: u32) {
        self.cancel_context(id);
        // A number that waits in a list means nobody from here on.
        self.contexts[id].marks = context_mark::GONE;
        self.contexts.give(id);
    }

    /// Counts a latency of a flow, which its client measures.
    pub(super) fn latency(&mut self, flow: u16, end: End, which: u32, took_us: u32) {
        if end == End::Client {
            self.tally.latency(flow, which, took_us);
        }
    }
}

/// A piece's block is free again.
#[inline]
pub(super) fn free(blocks: &mut crate::base::blocks::Blocks, piece: Piece) {
    if piece.origin == Origin::Block {
        blocks.give(piece.start);
    }
}
