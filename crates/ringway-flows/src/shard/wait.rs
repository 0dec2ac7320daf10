//! Instructions for connections, time and branches. They may wait for something else than bytes.

use crate::code::{End, Instr, NONE, Op};
use crate::machine::context::{NO_ID, mark};
use crate::transport::conn::State;
use crate::transport::output::close;

use super::run::{Input, Step, micros};
use super::{Failure, Shard, Wire};

impl Shard {
    /// An instruction that is not in the loop of [`run`](super::run).
    pub(super) fn wait_step(
        &mut self,
        id: u32,
        instr: Instr,
        input: &mut Input<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) -> Step {
        let endpoint = if instr.operands_slot() { self.slot(id, instr.a) } else { NO_ID };
        match instr.op {
            Op::Open => self.op_open(id, instr, now),
            Op::Accept => self.op_accept(endpoint),
            Op::Listen => self.op_listen(id, instr, now, wire),
            Op::Ephemeral => self.op_ephemeral(id, instr, now, wire),
            Op::Probe => self.op_probe(id, instr, now),
            Op::SendEnd => self.send_datagram(id, instr.a, now, wire),
            Op::ExpectEnd if endpoint == NO_ID || self.datagram_left(endpoint, input, instr.a) => {
                Step::Failed(Failure::Mismatch)
            }
            Op::ExpectEnd => Step::Next,
            Op::ExpectFin => self.op_expect_fin(endpoint, input, instr.a),
            Op::ExpectRst if self.contexts[id].is(mark::EXPIRED) => Step::Next,
            Op::ExpectRst if endpoint == NO_ID => Step::Failed(Failure::Mismatch),
            Op::ExpectRst => Step::Wait,
            Op::Close => self.op_close(endpoint, input, instr.a),
            Op::Half => self.op_half(endpoint),
            Op::Reset if self.is_under_way(endpoint) => Step::Wait,
            Op::Reset | Op::Abandon => {
                if endpoint != NO_ID {
                    if instr.op == Op::Reset {
                        self.abort(endpoint, now, wire);
                    }
                    self.detach(endpoint);
                    self.release(endpoint);
                }
                if input.slot == instr.a {
                    input.data = &[];
                }
                Step::Next
            }
            Op::Retry => {
                let start = self.start_of(id);
                let context = &mut self.contexts[id];
                context.retries = instr.b.min(255) as u8;
                context.retry_at = (context.pc + 1 - start) as u16;
                Step::Next
            }
            Op::Port => self.op_port(id, instr),
            Op::Think => self.op_think(id, instr, now),
            Op::Spawn => self.op_spawn(id, instr, now),
            Op::Join => self.op_join(id),
            Op::RawPkt => self.op_raw(id, instr, now, wire),
            _ => Step::Failed(Failure::Check),
        }
    }

    /// The context begins to wait at an instruction, or goes on waiting.
    pub(super) fn begin_wait(&mut self, id: u32, instr: Instr, now: u64) {
        if matches!(instr.op, Op::SendEnd | Op::RawPkt) || instr.op.sends() && self.is_starved(id, instr) {
            // What it waits for is no event of its own: it tries again.
            self.park(id);
        }
        let context = &mut self.contexts[id];
        if instr.op == Op::Think || context.is(mark::ENTERED) {
            return;
        }
        context.set(mark::ENTERED);
        context.since = micros(now);
        if !context.links.is_armed() {
            self.limit_wait(id, now);
        }
    }

    /// Arms the timer of a wait, if the story limits it.
    pub(super) fn limit_wait(&mut self, id: u32, now: u64) {
        if let Some(limit) = self.limit_of(&self.contexts[id]) {
            self.arm_context(id, now + limit);
        }
    }

    /// Whether a send waits for a record that other connections have, not for room in its own queue.
    fn is_starved(&self, id: u32, instr: Instr) -> bool {
        let endpoint = self.slot(id, instr.a);
        endpoint != NO_ID && self.endpoints[endpoint].queue == NO_ID
    }

    /// Runs what waits for a context's event: the context, and its branches.
    #[inline(never)]
    pub(super) fn wake(&mut self, id: u32, input: &mut Input<'_>, now: u64, wire: &mut impl Wire) {
        self.wake_at_once(id, input, now, wire);
    }

    /// The same, without a call: for segments.
    #[inline(always)]
    pub(super) fn wake_at_once(&mut self, id: u32, input: &mut Input<'_>, now: u64, wire: &mut impl Wire) {
        if !self.has_branches(id) {
            return self.run_at_once(id, input, now, wire);
        }
        for member in self.members_of(id).into_iter().flatten() {
            if !self.contexts[member].is_gone() {
                self.run(member, input, now, wire);
            }
        }
    }

    /// Wakes the owner of an endpoint. Says whether the endpoint is still there: the program may close it, or fail.
    #[inline]
    pub(super) fn wake_for(
        &mut self,
        endpoint: u32,
        input: &mut Input<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) -> bool {
        self.watched = endpoint;
        self.wake(self.endpoints[endpoint].owner.context(), input, now, wire);
        self.watched == endpoint
    }

    fn op_open(&mut self, id: u32, instr: Instr, now: u64) -> Step {
        if !self.contexts[id].is(mark::ENTERED) {
            let endpoint = match self.slot(id, instr.a) {
                NO_ID => {
                    let port = (instr.b != NONE.into()).then(|| self.register(id, instr.low()));
                    match self.open_later(id, instr.a, port, now) {
                        Ok(endpoint) => endpoint,
                        Err(why) => return Step::Failed(why),
                    }
                }
                begun => begun,
            };
            self.tally.connections += 1;
            if self.endpoints[endpoint].owner.is_udp() {
                return Step::Next;
            }
            self.open(endpoint);
            return Step::Wait;
        }
        let endpoint = self.slot(id, instr.a);
        if endpoint == NO_ID || !self.endpoints[endpoint].tcp.state.is_synchronized() {
            return Step::Wait;
        }
        let context = &self.contexts[id];
        let since = if context.is(mark::FRESH) { context.started } else { context.since };
        let (flow, end, took) = (context.flow, context.end(), micros(now).wrapping_sub(since));
        self.latency(flow, end, super::tally::CONNECT, took);
        let connections = &self.bundle.flows[usize::from(flow)].connections;
        if connections.get(usize::from(instr.a)).is_some_and(|connection| connection.half_open) {
            // It is forgotten before the acknowledgement goes.
            self.detach(endpoint);
            self.release(endpoint);
        }
        Step::Next
    }

    fn op_accept(&self, endpoint: u32) -> Step {
        if endpoint == NO_ID {
            return Step::Wait;
        }
        let record = &self.endpoints[endpoint];
        let is_here = match record.owner.is_udp() {
            true => !record.tuple.is_listener(),
            false => record.tcp.state.is_synchronized(),
        };
        if is_here { Step::Next } else { Step::Wait }
    }

    fn op_expect_fin(&self, endpoint: u32, input: &Input<'_>, slot: u8) -> Step {
        if endpoint == NO_ID {
            return Step::Failed(Failure::Mismatch);
        }
        let bytes = input.slot == slot && !input.data.is_empty();
        if bytes || self.bytes_wait(endpoint) {
            return Step::Failed(Failure::Mismatch);
        }
        if self.peer_closed(endpoint) { Step::Next } else { Step::Wait }
    }

    /// Whether bytes wait that the program may take.
    fn bytes_wait(&self, endpoint: u32) -> bool {
        let record = &self.endpoints[endpoint];
        record.incoming != NO_ID
            && !self.incoming[record.incoming].records.front(record.tcp.expected, &self.blocks).is_empty()
    }

    fn op_close(&mut self, endpoint: u32, input: &Input<'_>, slot: u8) -> Step {
        if endpoint == NO_ID {
            return Step::Next; // it was closed by both ends meanwhile
        }
        if self.endpoints[endpoint].owner.is_udp() {
            self.detach(endpoint);
            self.release(endpoint);
            return Step::Next;
        }
        if input.slot == slot && !input.data.is_empty() || self.bytes_wait(endpoint) {
            return Step::Failed(Failure::Mismatch);
        }
        if matches!(self.endpoints[endpoint].tcp.state, State::TimeWait | State::Closed) {
            self.detach(endpoint);
            return Step::Next;
        }
        match self.op_half(endpoint) {
            Step::Next => Step::Wait,
            step => step,
        }
    }

    fn op_half(&mut self, endpoint: u32) -> Step {
        use crate::transport::conn::mark;
        if endpoint == NO_ID {
            return Step::Failed(Failure::Reset);
        }
        if self.endpoints[endpoint].tcp.is(mark::FIN_QUEUED) {
            return Step::Next;
        }
        if self.queue_of(endpoint).is_none() {
            return Step::Failed(Failure::NoMemory);
        }
        close(&mut self.endpoints[endpoint].tcp);
        self.touch(endpoint);
        Step::Next
    }

    /// Whether bytes of a connection wait for their acknowledgement. A reset would overtake them.
    fn is_under_way(&self, endpoint: u32) -> bool {
        let Some(record) = self.endpoints.get(endpoint) else { return false };
        let is_open = !record.owner.is_udp() && record.tcp.state.is_synchronized();
        is_open && record.queue != NO_ID && self.queues[record.queue].queue.left(record.tcp.una) > 0
    }

    fn op_port(&mut self, id: u32, instr: Instr) -> Step {
        let endpoint = self.slot(id, instr.low());
        if endpoint == NO_ID {
            return Step::Failed(Failure::Reset);
        }
        let tuple = self.endpoints[endpoint].tuple;
        let end = if instr.high() == 0 { End::Client } else { End::Server };
        let port = if end == self.contexts[id].end() { tuple.local_port } else { tuple.remote_port };
        self.write(id, instr.a, port.into());
        Step::Next
    }

    fn op_think(&mut self, id: u32, instr: Instr, now: u64) -> Step {
        if self.contexts[id].is(mark::EXPIRED) {
            return Step::Next;
        }
        if self.contexts[id].take(mark::ENTERED) {
            // An event of another slot: the time goes on.
            self.contexts[id].set(mark::ENTERED);
            return Step::Wait;
        }
        let length = self.register(id, instr.a);
        if length == 0 {
            return Step::Next;
        }
        self.contexts[id].set(mark::ENTERED);
        self.arm_context(id, now.saturating_add(length));
        Step::Wait
    }
}
