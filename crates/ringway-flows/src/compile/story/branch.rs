//! Branches that run at the same time, and the end of blocks.

use super::compiler::{Compiler, Done};
use super::scope::Binding;
use super::scope::State;
use crate::code::{Instr, MAX_BRANCHES, Op, Transport};
use crate::lang::{Block, Diagnostic, Span};

impl Compiler<'_, '_> {
    /// `parallel { { } { } }`
    pub(super) fn parallel(&mut self, span: Span, blocks: &[Block]) -> Done {
        if self.in_branch || self.only.is_some() {
            return Err(Diagnostic::new(
                span,
                "branches start no branches",
                "inside a branch, or at one end only",
            ));
        }
        if !(1..=MAX_BRANCHES).contains(&blocks.len()) {
            return Err(Diagnostic::new(
                span,
                "there are 1 to 4 branches at the same time",
                format!("here are {}", blocks.len()),
            ));
        }
        let (over, before, used) = (self.labels(), self.states.clone(), self.used);
        let in_use = self.emit.each_ref().map(|emit| emit.in_use);
        self.jump_all(Op::Jmp, [0; 2], over, span)?;
        self.in_branch = true;
        let (mut starts, mut all) = (Vec::new(), 0);
        for block in blocks {
            let start = self.labels();
            self.place_all(start);
            starts.push(start);
            self.branch(block, span, before.as_ref())?;
            if all & self.used != 0 {
                let slot = (all & self.used).trailing_zeros() as u8;
                let message = format!("two branches use `{}`", self.slot_name(slot));
                return Err(Diagnostic::new(span, message, "at the same time")
                    .help("each branch needs connections of its own"));
            }
            all |= self.used;
        }
        self.in_branch = false;
        self.used = used | all;
        for (emit, in_use) in self.emit.iter_mut().zip(in_use) {
            emit.in_use = in_use;
        }
        self.place_all(over);
        for (number, start) in starts.into_iter().enumerate() {
            self.jump_all(Op::Spawn, [number as u8; 2], start, span)?;
        }
        self.both(Instr::new(Op::Join, 0, 0, 0), span)
    }

    /// One branch. Registers that it uses are not used by the next one.
    pub(super) fn branch(&mut self, block: &Block, span: Span, before: Option<&Vec<State>>) -> Done {
        self.used = 0;
        let in_use = self.emit.each_mut().map(|emit| {
            emit.touched = 0;
            emit.in_use
        });
        let outer = self.enter_region();
        self.block(block);
        self.region = outer;
        let ended = std::mem::replace(&mut self.states, before.cloned());
        self.meet(ended, span)?;
        self.both(Instr::new(Op::End, 0, 0, 0), span)?;
        for (emit, in_use) in self.emit.iter_mut().zip(in_use) {
            emit.in_use = in_use | emit.touched;
        }
        Ok(())
    }

    /// UDP connections of a block end with it.
    pub(super) fn end_of_block(&mut self, names: usize, span: Span) -> Done {
        let declared: Vec<u8> = self.names[names.min(self.names.len())..]
            .iter()
            .filter_map(
                |(_, binding)| if let Binding::Connection(slot) = binding { Some(*slot) } else { None },
            )
            .collect();
        for slot in declared {
            let udp =
                self.slots[usize::from(slot)].as_ref().is_some_and(|slot| slot.transport == Transport::Udp);
            if udp && matches!(self.state(slot), State::Open | State::Silent) {
                self.both(Instr::new(Op::Abandon, slot, 0, 0), span)?;
                self.set_state(slot, State::Closed(span));
            }
        }
        Ok(())
    }
}
