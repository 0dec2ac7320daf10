//! Timers of connections and of programs.

use std::collections::HashSet;

use crate::base::slab::Slab;
use crate::base::wheel::{Links, Timed};
use crate::code::{End, Op};
use crate::machine::context::{Context, NO_ID, mark as context_mark};
use crate::transport::conn::mark;
use crate::transport::input::{Now, Over};
use crate::transport::timer::{Expiry, expire};

use super::endpoint::{Endpoint, room, settings_of};
use super::run::{Input, micros};
use super::wire::has_room;
use super::{Failure, Shard, Wire};

/// Both sides of a wire.
const SIDES: [End; 2] = [End::Client, End::Server];

/// The timers of a wheel: even numbers are endpoints, odd ones are contexts.
struct Timers<'a> {
    endpoints: &'a mut Slab<Endpoint>,
    contexts: &'a mut Slab<Context>,
}

impl Timed for Timers<'_> {
    #[inline]
    fn links(&mut self, id: u32) -> &mut Links {
        match id % 2 {
            0 => &mut self.endpoints[id / 2].links,
            _ => &mut self.contexts[id / 2].links,
        }
    }
}

impl Shard {
    /// Does what is due at `now`: timers, programs that had no more budget, segments that had no slot. To be called after
    /// each batch of frames, and at [`next_ns`](Self::next_ns).
    pub fn poll(&mut self, now: u64, wire: &mut impl Wire) {
        self.ask(now, wire);
        self.unblock(now, wire);
        for _ in 0..self.runnable.len() {
            let Some(id) = self.runnable.pop_front() else { break };
            if self.contexts[id].take(context_mark::QUEUED) {
                self.run(id, &mut Input::default(), now, wire);
                self.flush_touched(now, wire);
            }
        }
        loop {
            let Self { wheel, endpoints, contexts, .. } = self;
            let Some(id) = wheel.pop(now, &mut Timers { endpoints, contexts }) else { break };
            self.look_at_upcoming();
            match id % 2 {
                0 => self.endpoint_due(id / 2, now, wire),
                _ => self.context_due(id / 2, now, wire),
            }
            self.flush_touched(now, wire);
        }
    }

    /// When [`poll`](Self::poll) has something to do, in ns of the run. `None`: nothing is waited for.
    pub fn next_ns(&self) -> Option<u64> {
        if !self.runnable.is_empty() || self.blocked.iter().any(|side| !side.is_empty()) {
            return Some(0);
        }
        let questions = self.nets.iter().filter_map(|net| net.question_due());
        questions.chain(self.wheel.next_ns()).min()
    }

    /// A context tries its instruction again at the next [`poll`](Self::poll) that finds a slot.
    pub(super) fn park(&mut self, id: u32) {
        let parked = &mut self.parked[self.contexts[id].end() as usize];
        if parked.len() > 2 * self.contexts.used() as usize {
            // Events woke contexts that are there already.
            let mut seen = HashSet::new();
            parked.retain(|&id| seen.insert(id));
        }
        parked.push_back(id);
    }

    /// Sends what had no slot, the longest wait first, as far as there are slots.
    fn unblock(&mut self, now: u64, wire: &mut impl Wire) {
        self.is_unblocking = true;
        for side in SIDES {
            while has_room(wire, side) {
                let Some(id) = self.blocked[side as usize].pop_front() else { break };
                self.look_at_blocked(side);
                if self.endpoints[id].tcp.take(mark::BLOCKED) {
                    self.flush(id, now, wire);
                }
            }
        }
        self.is_unblocking = false;
        self.retry(now, wire);
    }

    /// Does again what waited for a hardware address, for a slot without a connection, or for a record.
    fn retry(&mut self, now: u64, wire: &mut impl Wire) {
        if self.news {
            self.news = false;
            for _ in 0..self.asking.len() {
                let Some(id) = self.asking.pop_front() else { break };
                if self.endpoints[id].tcp.take(mark::BLOCKED) {
                    self.flush(id, now, wire);
                }
            }
        }
        for side in SIDES {
            for _ in 0..self.parked[side as usize].len() {
                if !has_room(wire, side) {
                    break;
                }
                let Some(id) = self.parked[side as usize].pop_front() else { break };
                let instr = self.instruction(id);
                if !self.contexts[id].is_gone()
                    && (instr.op.sends() || matches!(instr.op, Op::SendEnd | Op::RawPkt | Op::Listen))
                {
                    self.run(id, &mut Input::default(), now, wire);
                    self.flush_touched(now, wire);
                }
            }
        }
    }

    /// Asks for hardware addresses.
    fn ask(&mut self, now: u64, wire: &mut impl Wire) {
        for side in SIDES {
            let Self { nets, tally, news, .. } = self;
            let net = &mut nets[side as usize];
            while net.question_due().is_some_and(|due| due <= now) && wire.room(side) > 0 {
                // A neighbour that was asked often enough is unreachable from here on, which is news too.
                *news = true;
                wire.send(side, |out| tally.sent(net.question(now, out)));
            }
            *news |= net.take_news();
        }
    }

    pub(super) fn arm_endpoint(&mut self, id: u32, due: u64) {
        let record = &mut self.endpoints[id];
        if record.tcp.is(mark::ACK_OWED) {
            record.tcp.set(mark::DELAYING);
        }
        let Self { wheel, endpoints, contexts, .. } = self;
        wheel.arm(&mut Timers { endpoints, contexts }, id * 2, due);
    }

    pub(super) fn cancel_endpoint(&mut self, id: u32) {
        let Self { wheel, endpoints, contexts, .. } = self;
        wheel.cancel(&mut Timers { endpoints, contexts }, id * 2);
    }

    pub(super) fn arm_context(&mut self, id: u32, due: u64) {
        let Self { wheel, endpoints, contexts, .. } = self;
        wheel.arm(&mut Timers { endpoints, contexts }, id * 2 + 1, due);
    }

    pub(super) fn cancel_context(&mut self, id: u32) {
        let Self { wheel, endpoints, contexts, .. } = self;
        wheel.cancel(&mut Timers { endpoints, contexts }, id * 2 + 1);
    }

    fn endpoint_due(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let Self { endpoints, queues, incoming, settings, narrow, contexts, .. } = self;
        let record = &mut endpoints[id];
        record.tcp.take(mark::DELAYING);
        if record.tcp.is(mark::BLOCKED) && !record.owner.is_nobody() {
            // What never left is not lost. The program limits the wait; what sends the segment arms the timer.
            return;
        }
        let settings = settings_of(record, settings, narrow, contexts);
        let room = room(record, incoming, settings);
        let queue = (record.queue != NO_ID).then(|| &mut queues[record.queue].queue);
        match expire(&mut record.tcp, queue, Now { settings, ns: now, room }) {
            Expiry::Idle => {}
            Expiry::Later(after) => self.arm_endpoint(id, now + after),
            Expiry::Send => {
                self.tally.retransmitted += 1;
                self.touch(id);
            }
            Expiry::Probe => self.probe(id, now, wire),
            Expiry::Failed => self.fail_endpoint(id, Failure::Timeout, now, wire),
            Expiry::Over => self.end_connection(id, Over::Closed, now, wire),
        }
    }

    /// The time of a program's wait is over.
    fn context_due(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        if self.instruction(id).op == Op::Think {
            self.contexts[id].set(context_mark::EXPIRED);
            return self.run(id, &mut Input::default(), now, wire);
        }
        let context = &self.contexts[id];
        let Some(limit) = self.limit_of(context) else { return };
        if !context.is(context_mark::ENTERED) {
            return;
        }
        let waited = u64::from(micros(now).wrapping_sub(context.since)) * 1000;
        if waited < limit {
            return self.arm_context(id, now + (limit - waited));
        }
        self.timed_out(id, now, wire);
    }

    /// How long a wait may be.
    pub(super) fn limit_of(&self, context: &Context) -> Option<u64> {
        let constant = usize::from(context.limit).checked_sub(1)?;
        self.bundle.constants.get(constant).copied().filter(|&limit| limit > 0)
    }

    /// A wait was longer than its story allows.
    fn timed_out(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let instr = self.instruction(id);
        if instr.op == Op::Probe {
            self.contexts[id].set(context_mark::EXPIRED);
            return self.run(id, &mut Input::default(), now, wire);
        }
        let start = self.start_of(id);
        let context = &mut self.contexts[id];
        if instr.op.takes() && context.retries > 0 {
            context.retries -= 1;
            context.pc = start + u32::from(context.retry_at);
            context.marks &= !(context_mark::ENTERED | context_mark::EXPIRED);
            context.matched = Default::default();
            return self.run(id, &mut Input::default(), now, wire);
        }
        self.fail(id, Failure::Timeout, now, wire);
    }
}
