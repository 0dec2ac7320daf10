//! The program of one end while it is made: instructions, labels, registers.

use crate::code::{Instr, MAX_INSTRUCTIONS, MAX_REGISTERS, Op, Program};

/// A place in a program that jumps may name before it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

/// Why a program can't be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All registers are in use.
    Registers,
    /// It has as many instructions as a program may have.
    Instructions,
}

/// The program of one end.
#[derive(Debug, Default)]
pub(super) struct Emitter {
    code: Vec<Instr>,
    /// Where each label is.
    labels: Vec<Option<u32>>,
    /// Registers in use, one bit each.
    pub(super) in_use: u16,
    /// Registers that were in use since somebody set this to 0.
    pub(super) touched: u16,
    /// The number of the last register that was ever in use, plus one.
    most: u8,
}

impl Emitter {
    /// Appends an instruction.
    pub(super) fn push(&mut self, instr: Instr) -> Result<(), Full> {
        if self.code.len() >= MAX_INSTRUCTIONS {
            return Err(Full::Instructions);
        }
        self.code.push(instr);
        Ok(())
    }

    /// How many of the instructions from a place on send bytes.
    pub(super) fn sends_since(&self, place: usize) -> usize {
        self.code[place..].iter().filter(|instr| instr.op.sends()).count()
    }

    /// How many instructions there are.
    pub(super) fn len(&self) -> usize {
        self.code.len()
    }

    /// A free register.
    pub(super) fn register(&mut self) -> Result<u8, Full> {
        let free = (!self.in_use).trailing_zeros();
        if free as usize >= MAX_REGISTERS {
            return Err(Full::Registers);
        }
        self.in_use |= 1 << free;
        self.touched |= 1 << free;
        self.most = self.most.max(free as u8 + 1);
        Ok(free as u8)
    }

    /// The first of `count` free registers in a row.
    pub(super) fn registers(&mut self, count: u8) -> Result<u8, Full> {
        for first in 0..=(MAX_REGISTERS as u8).saturating_sub(count) {
            let mask = ((1u32 << count) - 1) << first;
            if u32::from(self.in_use) & mask == 0 {
                self.in_use |= mask as u16;
                self.touched |= mask as u16;
                self.most = self.most.max(first + count);
                return Ok(first);
            }
        }
        Err(Full::Registers)
    }

    /// A label that is not placed so far.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Places a label in front of the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.code.len() as u32);
    }

    /// Appends an instruction whose target is a label.
    pub(super) fn jump(&mut self, op: Op, a: u8, to: Label) -> Result<(), Full> {
        self.push(Instr::new(op, a, 0, to.0))
    }

    /// The program, with the places of labels filled in.
    pub(super) fn finish(mut self) -> Program {
        for instr in &mut self.code {
            if instr.op.operands()[2] == crate::code::Operand::Target {
                instr.c = self.labels.get(instr.c as usize).copied().flatten().unwrap_or(0);
            }
        }
        Program { code: self.code, registers: self.most }
    }
}
