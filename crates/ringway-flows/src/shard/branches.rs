//! Branches of a program: they run beside each other, and share its registers and connections.

use crate::code::{Instr, MAX_BRANCHES};
use crate::content::random::SplitMix64;
use crate::machine::context::{Context, NO_ID, mark};

use super::run::{Input, Step, micros};
use super::{Failure, Shard, Wire};

impl Shard {
    pub(super) fn op_spawn(&mut self, id: u32, instr: Instr, now: u64) -> Step {
        let context = self.contexts[id];
        let Some(branch) = self.contexts.take() else { return Step::Failed(Failure::NoMemory) };
        let draws = SplitMix64(self.draw_seed(id)).draw();
        self.contexts[branch] = Context {
            started: micros(now),
            draws,
            slots: context.slots,
            registers: context.registers,
            pc: instr.c,
            flow: context.flow,
            limit: context.limit,
            marks: context.marks & (mark::SERVER | mark::ROW) | mark::BRANCH | mark::QUEUED,
            ..Context::default()
        };
        self.rows[context.slots].branches[usize::from(instr.a) % MAX_BRANCHES] = branch;
        self.rows[context.slots].main = id;
        self.runnable.push_back(branch);
        Step::Next
    }

    pub(super) fn op_join(&self, id: u32) -> Step {
        if self.branches_of(id).iter().any(Option::is_some) { Step::Wait } else { Step::Next }
    }

    /// A branch ran to its end.
    pub(super) fn branch_done(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let row = self.contexts[id].slots;
        let record = &mut self.rows[row];
        record.branches.iter_mut().filter(|branch| **branch == id).for_each(|branch| *branch = NO_ID);
        let main = record.main;
        self.forget_one(id);
        self.run(main, &mut Input::default(), now, wire);
    }
}
