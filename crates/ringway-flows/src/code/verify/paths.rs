//! What holds on each path through a program: registers that are written, states of slots, a latency that has begun.

use super::Refusal;
use super::operands::Unit;
use super::slots::{NEVER, States, slot_of, step};
use crate::code::{Instr, MAX_CONNECTIONS, NONE, Op, Operand, Parser, Piece};

/// What is known in front of an instruction, on all paths that reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Registers that are written on each path, one bit each.
    pub(super) written: u16,
    /// A latency has begun on each path.
    pub(super) begun: bool,
    /// Waits have a limit on each path.
    pub(super) limited: bool,
    /// The states that each slot may be in.
    pub(super) slots: [States; MAX_CONNECTIONS],
}

impl Known {
    /// What is known at the start of a program.
    pub(super) const fn at_start() -> Self {
        Self { written: 0, begun: false, limited: false, slots: [NEVER; MAX_CONNECTIONS] }
    }

    /// What is known where two paths meet.
    fn meet(self, other: Self) -> Self {
        let mut slots = self.slots;
        for (mine, theirs) in slots.iter_mut().zip(other.slots) {
            *mine |= theirs;
        }
        Self {
            written: self.written & other.written,
            begun: self.begun && other.begun,
            limited: self.limited && other.limited,
            slots,
        }
    }
}

/// What is known in front of each instruction that a start reaches. `Join` goes on with what was known in front of its group of branches.
pub(super) type Map = Vec<Option<Known>>;

/// Follows all paths from instruction `start`.
///
/// # Errors
/// An instruction reads a register that is not written on each path, or uses a slot that may be in the wrong state.
pub(super) fn follow(unit: &Unit<'_>, start: usize, known: Known) -> Result<Map, Refusal> {
    let code = &unit.program().code;
    let mut map: Map = vec![None; code.len()];
    let mut work = vec![(start, known)];
    while let Some((at, incoming)) = work.pop() {
        let Some(instr) = code.get(at) else { return Err(unit.refuse(at, "the program runs off its end")) };
        let met = map[at].map_or(incoming, |old| old.meet(incoming));
        if map[at] == Some(met) {
            continue;
        }
        map[at] = Some(met);
        let after = pass(unit, *instr, met).map_err(|what| unit.refuse(at, what))?;
        if matches!(instr.op, Op::Jmp | Op::Jz | Op::Jnz) {
            work.push((instr.c as usize, after));
        }
        if !instr.op.ends() {
            work.push((at + 1, after));
        }
    }
    Ok(map)
}

/// What is known behind an instruction.
fn pass(unit: &Unit<'_>, instr: Instr, mut known: Known) -> Result<Known, String> {
    for access in accesses(unit, instr) {
        match access {
            Access::Read(reg) if known.written >> reg & 1 == 0 => {
                return Err(format!("register r{reg} is read before it is written"));
            }
            Access::Read(_) => {}
            Access::Write(reg) => known.written |= 1 << reg,
        }
    }
    if instr.op == Op::Lat {
        if instr.a == 1 && !known.begun {
            return Err("a latency ends that has not begun".to_owned());
        }
        known.begun = instr.a == 0;
    }
    if needs_limit(instr.op) && !known.limited {
        return Err("it may wait, and no timeout limits that".to_owned());
    }
    known.limited |= instr.op == Op::Timeout;
    if let Some(slot) = uses_slot(instr) {
        let connection = &unit.flow.connections[usize::from(slot)];
        let states = known.slots[usize::from(slot)];
        known.slots[usize::from(slot)] = step((unit.flow.kind, unit.end), connection, instr, states)?;
    }
    Ok(known)
}

/// Whether an operation may wait for the peer, for a port or for room. `Think` and `Join` end by themselves, as branches do.
const fn needs_limit(op: Op) -> bool {
    let ends_itself = matches!(op, Op::Think | Op::Join);
    op.waits() && !ends_itself || op.sends() || matches!(op, Op::SendEnd | Op::Listen)
}

/// The slot that an instruction uses.
pub(super) fn uses_slot(instr: Instr) -> Option<u8> {
    let slot = |operand| matches!(operand, Operand::Slot | Operand::SlotEnd);
    instr.op.operands().into_iter().any(slot).then(|| slot_of(instr))
}

/// A register that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It reads it.
    Read(u8),
    /// It writes it.
    Write(u8),
}

/// The registers of an instruction, in the order in which it uses them.
pub(super) fn accesses(unit: &Unit<'_>, instr: Instr) -> Vec<Access> {
    let mut list = Vec::new();
    let mut writes = Vec::new();
    let fields = [u32::from(instr.a), u32::from(instr.b), instr.c];
    for (operand, value) in instr.op.operands().into_iter().zip(fields) {
        let low = (value & 0xff) as u8;
        let high = (value >> 8 & 0xff) as u8;
        match operand {
            Operand::Read => list.push(Access::Read(low)),
            Operand::ReadOrNone if low != NONE => list.push(Access::Read(low)),
            Operand::ReadTwo => list.extend([Access::Read(low), Access::Read(high)]),
            Operand::ReadWrite => {
                list.push(Access::Read(low));
                writes.push(Access::Write(high));
            }
            Operand::Write => writes.push(Access::Write(low)),
            Operand::Captures => {
                let count = unit.bundle.parsers[instr.c as usize].captures();
                writes.extend((low..low + count).map(Access::Write));
            }
            Operand::Format => list.extend(pieces(&unit.bundle.formats[instr.c as usize].pieces)),
            Operand::Parser => {
                if let Parser::DnsReply { id, question, .. } = unit.bundle.parsers[instr.c as usize] {
                    list.push(Access::Read(id));
                    list.extend(pieces(&unit.bundle.formats[question as usize].pieces));
                }
            }
            _ => {}
        }
    }
    list.extend(writes);
    list
}

/// The registers of a format's pieces, in their order.
fn pieces(pieces: &[Piece]) -> impl Iterator<Item = Access> {
    pieces.iter().filter_map(|p| p.reads().map(Access::Read).or_else(|| p.takes().map(Access::Write)))
}
