//! Runs the program of a context until it has to wait.

use crate::code::{BUILT_IN, Instr, NONE, Op};
use crate::machine::compute;
use crate::machine::context::mark;

use super::{Failure, Shard, Wire};

/// Instructions that an event may run. Then the others come first.
const FUEL: u32 = 256;

/// What becomes of a program after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Go on with the next instruction.
    Next,
    /// Go on at this instruction.
    Jump(u32),
    /// The instruction waits for an event.
    Wait,
    /// The end, or the branch, is done.
    Done,
    /// The flow failed at this end.
    Failed(Failure),
}

/// What an event brought: bytes of a slot that are the next ones, and are not kept anywhere.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Input<'a> {
    pub(super) slot: u8,
    pub(super) data: &'a [u8],
}

impl Shard {
    /// Runs a context. Takes what it can of `input`, and leaves the rest there.
    #[inline(never)]
    pub(super) fn run(&mut self, id: u32, input: &mut Input<'_>, now: u64, wire: &mut impl Wire) {
        self.run_at_once(id, input, now, wire);
    }

    /// The same, without a call.
    #[inline(always)]
    pub(super) fn run_at_once(&mut self, id: u32, input: &mut Input<'_>, now: u64, wire: &mut impl Wire) {
        let mut fuel = FUEL;
        loop {
            if fuel == 0 {
                self.contexts[id].set(mark::QUEUED);
                self.runnable.push_back(id);
                self.tally.fuel_exhausted += 1;
                break;
            }
            fuel -= 1;
            let instr = self.programs.fetch(self.contexts[id].pc);
            match self.step(id, instr, input, now, wire) {
                Step::Next => self.contexts[id].advance(),
                Step::Jump(target) => {
                    let context = &mut self.contexts[id];
                    context.advance();
                    context.pc = target;
                }
                Step::Wait => {
                    self.begin_wait(id, instr, now);
                    break;
                }
                Step::Done => {
                    self.done(id, now, wire);
                    break;
                }
                Step::Failed(failure) => {
                    self.fail(id, failure, now, wire);
                    break;
                }
            }
        }
        self.tally.instructions += u64::from(FUEL - fuel);
    }

    /// One instruction.
    #[inline(always)]
    fn step(&mut self, id: u32, instr: Instr, input: &mut Input<'_>, now: u64, wire: &mut impl Wire) -> Step {
        match instr.op {
            Op::SendT | Op::SendV | Op::SendR | Op::SendW => self.send(id, instr),
            Op::ExpectT | Op::ExpectV | Op::ExpectR | Op::ExpectW | Op::ExpectN | Op::ExpectP => {
                self.expect(id, instr, input, now)
            }
            Op::Rand => self.set(id, instr.a, |shard| shard.draw(id, instr.c)),
            Op::Ld => self.set(id, instr.a, |shard| shard.constant(instr.c)),
            Op::Ldi => self.set(id, instr.a, |_| u64::from(instr.c)),
            Op::Mov => self.set(id, instr.a, |shard| shard.register(id, instr.low())),
            Op::Jmp => Step::Jump(instr.c),
            Op::Jz | Op::Jnz => {
                let is_zero = self.register(id, instr.a) == 0;
                if is_zero == (instr.op == Op::Jz) { Step::Jump(instr.c) } else { Step::Next }
            }
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Rem
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le => {
                let (x, y) = (self.register(id, instr.low()), self.register(id, instr.high()));
                match compute(instr.op, x, y) {
                    Some(result) => self.set(id, instr.a, |_| result),
                    None => Step::Failed(Failure::Check),
                }
            }
            Op::Lat if instr.a == 0 => {
                let context = &mut self.contexts[id];
                context.lap = if context.is(mark::FRESH) { context.started } else { micros(now) };
                Step::Next
            }
            Op::Lat => {
                let context = &self.contexts[id];
                let took = micros(now).wrapping_sub(context.lap);
                let (flow, end) = (context.flow, context.end());
                self.latency(flow, end, instr.c + BUILT_IN.len() as u32, took);
                Step::Next
            }
            Op::Count => {
                let by = if instr.a == NONE { 1 } else { self.register(id, instr.a) };
                self.tally.count(self.contexts[id].flow, instr.c, by);
                Step::Next
            }
            Op::Check if self.register(id, instr.a) != 0 => Step::Next,
            Op::Check | Op::Fail => {
                self.tally.failed_check(instr.c);
                Step::Failed(Failure::Check)
            }
            Op::Now => self.set(id, instr.a, |_| now),
            Op::Timeout => {
                let before = self.limit_of(&self.contexts[id]);
                self.contexts[id].limit = (instr.c + 1) as u16;
                if self.limit_of(&self.contexts[id]) < before {
                    // A timer for the longer limit would come too late. The next wait arms it.
                    self.cancel_context(id);
                }
                Step::Next
            }
            Op::End => Step::Done,
            _ => self.wait_step(id, instr, input, now, wire),
        }
    }

    /// Writes a register.
    #[inline(always)]
    fn set(&mut self, id: u32, register: u8, value: impl FnOnce(&mut Self) -> u64) -> Step {
        let value = value(self);
        let block = self.contexts[id].registers;
        self.registers.set(block, register, value);
        Step::Next
    }

    /// Reads a register.
    #[inline]
    pub(super) fn register(&self, id: u32, register: u8) -> u64 {
        self.registers.get(self.contexts[id].registers, register)
    }

    fn constant(&self, index: u32) -> u64 {
        self.bundle.constants.get(index as usize).copied().unwrap_or_default()
    }
}

/// Microseconds that wrap around.
#[inline]
pub(super) const fn micros(ns: u64) -> u32 {
    (ns / 1000) as u32
}
