//! What belongs to a context: its connections, registers and branches.

use crate::code::{Instr, MAX_BRANCHES, Operand, Transport};
use crate::content::random::SplitMix64;
use crate::machine::context::{Context, NO_ID, mark};
use crate::transport::net::hosts::HostId;

use super::Shard;
use super::traits::Traits;

impl Instr {
    /// Whether `a` is a slot.
    pub(super) const fn operands_slot(self) -> bool {
        matches!(self.op.operands()[0], Operand::Slot)
    }
}

impl Shard {
    #[inline]
    pub(super) fn traits_of(&self, context: &Context) -> Traits {
        self.traits[context.place()]
    }

    #[inline]
    pub(super) fn has_branches(&self, id: u32) -> bool {
        let context = &self.contexts[id];
        context.is(mark::ROW) && self.traits_of(context).branches
    }

    /// How many connections the flow of a context may have.
    pub(super) fn slots_of(&self, id: u32) -> u8 {
        self.traits_of(&self.contexts[id]).slots
    }

    /// Where the program of a context begins.
    pub(super) fn start_of(&self, id: u32) -> u32 {
        let context = &self.contexts[id];
        self.programs.start(context.flow, context.end())
    }

    /// The endpoint of a slot, or `NO_ID`.
    #[inline(always)]
    pub(super) fn slot(&self, id: u32, slot: u8) -> u32 {
        let context = &self.contexts[id];
        match context.is(mark::ROW) {
            true => self.rows[context.slots].slots[usize::from(slot) % crate::code::MAX_CONNECTIONS],
            false => context.slots,
        }
    }

    /// Notes the endpoint of a slot.
    #[inline]
    pub(super) fn set_slot(&mut self, id: u32, slot: u8, endpoint: u32) {
        let context = self.contexts[id];
        match context.is(mark::ROW) {
            true => {
                self.rows[context.slots].slots[usize::from(slot) % crate::code::MAX_CONNECTIONS] = endpoint
            }
            false => self.contexts[id].slots = endpoint,
        }
    }

    /// The context of which this one is a branch, or the context itself.
    pub(super) fn main_of(&self, id: u32) -> u32 {
        let context = &self.contexts[id];
        if context.is(mark::BRANCH) { self.rows[context.slots].main } else { id }
    }

    /// The branches of a context that run.
    pub(super) fn branches_of(&self, id: u32) -> [Option<u32>; MAX_BRANCHES] {
        let context = &self.contexts[id];
        match context.is(mark::ROW) {
            true => self.rows[context.slots].branches.map(|branch| (branch != NO_ID).then_some(branch)),
            false => [None; MAX_BRANCHES],
        }
    }

    /// A context and its branches.
    pub(super) fn members_of(&self, id: u32) -> [Option<u32>; MAX_BRANCHES + 1] {
        let [a, b, c, d] = self.branches_of(id);
        [Some(id), a, b, c, d]
    }

    /// The host that this end has on a connection, which need not be open yet.
    pub(super) fn own_host(&self, id: u32, slot: u8) -> Option<HostId> {
        let context = &self.contexts[id];
        if let Some(record) = self.endpoints.get(self.slot(id, slot)) {
            return Some(record.tuple.local);
        }
        let connection = self.bundle.flows[usize::from(context.flow)].connections.get(usize::from(slot))?;
        let end = context.end();
        self.place(id, if end == crate::code::End::Client { connection.client } else { connection.server })
    }

    pub(super) fn is_udp(&self, id: u32, slot: u8) -> bool {
        let flow = &self.bundle.flows[usize::from(self.contexts[id].flow)];
        flow.connections
            .get(usize::from(slot))
            .is_some_and(|connection| connection.transport == Transport::Udp)
    }

    /// Writes a register.
    #[inline]
    pub(super) fn write(&mut self, id: u32, register: u8, value: u64) {
        self.registers.set(self.contexts[id].registers, register, value);
    }

    /// A draw that the other end makes too.
    #[inline]
    pub(super) fn draw(&mut self, id: u32, dist: u32) -> u64 {
        let Some(dist) = self.dists.get(dist as usize) else { return 0 };
        let mut random = SplitMix64(self.contexts[id].draws);
        let value = dist.next(&mut random);
        self.contexts[id].draws = random.0;
        value
    }

    /// The seed of a branch's draws.
    pub(super) fn draw_seed(&mut self, id: u32) -> u64 {
        let mut random = SplitMix64(self.contexts[id].draws);
        let seed = random.draw();
        self.contexts[id].draws = random.0;
        seed
    }
}
