//! Instructions that listen for connections, choose ports for them, and try ports of others.

use crate::code::{Answer, End, Instr, NONE, ToPort};
use crate::machine::context::{NO_ID, mark};

use super::endpoint::{Owner, Tuple};
use super::run::Step;
use super::{Failure, Shard, Wire};

impl Shard {
    /// Listens for a later connection that the peer opens to a port of the story.
    fn await_peer(&mut self, id: u32, slot: u8) -> Step {
        let flow = &self.bundle.flows[usize::from(self.contexts[id].flow)];
        let Some(connection) = flow.connections.get(usize::from(slot)) else {
            return Step::Failed(Failure::Check);
        };
        let ToPort::Fixed(local_port) = connection.port else { return Step::Wait };
        let (own, other) = match self.contexts[id].end() {
            End::Client => (connection.client, connection.server),
            End::Server => (connection.server, connection.client),
        };
        let hosts = self.place(id, own).zip(self.place(id, other));
        let Some((local, remote)) = hosts else { return Step::Failed(Failure::Check) };
        let (tuple, is_udp) = (Tuple { local, remote, local_port, remote_port: 0 }, self.is_udp(id, slot));
        if self.find(tuple, is_udp).is_some() {
            // Another flow of the same two hosts is first.
            self.park(id);
            return Step::Wait;
        }
        let Some(endpoint) = self.enter(tuple, Owner::new(self.main_of(id), slot, is_udp)) else {
            return Step::Failed(Failure::NoMemory);
        };
        self.set_slot(id, slot, endpoint);
        Step::Wait
    }

    /// Listens to a port, unless [`op_ephemeral`](Self::op_ephemeral) does already.
    pub(super) fn op_listen(&mut self, id: u32, instr: Instr, now: u64, wire: &mut impl Wire) -> Step {
        if instr.b == NONE.into() {
            return match self.await_peer(id, instr.a) {
                Step::Wait if self.slot(id, instr.a) != NO_ID => Step::Next,
                step => step,
            };
        }
        let Ok(port) = u16::try_from(self.register(id, instr.low())) else {
            return Step::Failed(Failure::Check);
        };
        let Some(local) = self.own_host(id, instr.a) else { return Step::Failed(Failure::Check) };
        let tuple = Tuple::listener(local, port);
        if self.endpoints.get(self.slot(id, instr.a)).is_some_and(|own| own.tuple == tuple) {
            return Step::Next;
        }
        self.let_go(self.slot(id, instr.a), now, wire);
        let is_udp = self.is_udp(id, instr.a);
        if self.find(tuple, is_udp).is_some() {
            return Step::Failed(Failure::NoPort);
        }
        let Some(endpoint) = self.enter(tuple, Owner::new(self.main_of(id), instr.a, is_udp)) else {
            return Step::Failed(Failure::NoMemory);
        };
        self.set_slot(id, instr.a, endpoint);
        Step::Next
    }

    /// Takes a free port that no service has, and listens to it. So it is free again when the flow ends, however that happens.
    pub(super) fn op_ephemeral(&mut self, id: u32, instr: Instr, now: u64, wire: &mut impl Wire) -> Step {
        let slot = instr.low();
        let Some(host) = self.own_host(id, slot) else { return Step::Failed(Failure::Check) };
        self.let_go(self.slot(id, slot), now, wire);
        let is_udp = self.is_udp(id, slot);
        let Some((_, port)) = self.take_port(host, is_udp, false, |_, _, _| true) else {
            return Step::Failed(Failure::NoPort);
        };
        let owner = Owner::new(self.main_of(id), slot, is_udp).with_port();
        let Some(endpoint) = self.enter(Tuple::listener(host, port), owner) else {
            self.give_port(host, port);
            return Step::Failed(Failure::NoMemory);
        };
        self.set_slot(id, slot, endpoint);
        self.write(id, instr.a, port.into());
        Step::Next
    }

    /// Opens a connection, and tells how the attempt ended.
    pub(super) fn op_probe(&mut self, id: u32, instr: Instr, now: u64) -> Step {
        let answer = |shard: &mut Self, answer: Answer| {
            shard.write(id, instr.high(), answer as u64);
            Step::Next
        };
        if !self.contexts[id].is(mark::ENTERED) {
            let port = self.register(id, instr.low());
            return match self.open_later(id, instr.a, Some(port), now) {
                Ok(endpoint) => {
                    self.open(endpoint);
                    Step::Wait
                }
                Err(why) => Step::Failed(why),
            };
        }
        let endpoint = self.slot(id, instr.a);
        if endpoint == NO_ID {
            return Step::Failed(Failure::Check);
        }
        if self.endpoints[endpoint].tcp.state.is_synchronized() {
            return answer(self, Answer::Open);
        }
        if self.contexts[id].is(mark::EXPIRED) {
            self.detach(endpoint);
            self.release(endpoint);
            return answer(self, Answer::Filtered);
        }
        Step::Wait
    }
}
