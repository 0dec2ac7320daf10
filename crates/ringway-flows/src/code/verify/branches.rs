//! Follows a program with its branches.
//!
//! A group of branches is a run of `Spawn` that a `Join` ends. A branch has instructions of its own, which end with `End`. Branches of a
//! group use different slots, and none touches a register that another one writes. So the order in which they run makes no difference. A
//! branch leaves each slot as it was at its start.

use super::Refusal;
use super::operands::Unit;
use super::paths::{Access, Known, Map, accesses, follow, uses_slot};
use super::slots::{FREE, NEVER, at_end};
use crate::code::Op;

/// Most branches that the text of a program starts, so that a look at all of them stays short.
const MAX_SPAWNS: usize = 64;

/// What a branch uses.
#[derive(Clone, Copy, Default)]
struct Uses {
    /// Its number, as a bit.
    number: u8,
    /// Slots, one bit each.
    slots: u8,
    /// Registers that it reads or writes.
    touched: u16,
    /// Registers that it writes.
    written: u16,
}

/// Follows all paths of a program and of its branches.
pub(super) fn check(unit: &Unit<'_>) -> Result<(), Refusal> {
    let code = &unit.program().code;
    let main = follow(unit, 0, Known::at_start())?;
    if let Some((at, _)) = code.iter().enumerate().filter(|(_, instr)| instr.op == Op::Spawn).nth(MAX_SPAWNS)
    {
        return Err(unit.refuse(at, "the program starts more than 64 branches"));
    }
    let mut owner = vec![0usize; code.len()];
    let mut group: Vec<Uses> = Vec::new();
    for (at, instr) in code.iter().enumerate() {
        let Some(known) = main[at] else { continue };
        own(unit, &mut owner, at, code.len())?;
        match instr.op {
            Op::Spawn => {
                if at == 0 || code[at - 1].op != Op::Spawn {
                    group.clear();
                }
                let next = code.get(at + 1).map(|next| next.op);
                if !matches!(next, Some(Op::Spawn | Op::Join)) {
                    return Err(unit.refuse(at, "behind it is neither another branch nor a join"));
                }
                let uses = check_branch(unit, &mut owner, at, known)?;
                if group.iter().any(|other| clash(uses, *other)) {
                    return Err(unit.refuse(
                        at,
                        "it shares its number, a slot or a written register with another branch",
                    ));
                }
                group.push(uses);
            }
            Op::Join if at == 0 || code[at - 1].op != Op::Spawn => {
                return Err(unit.refuse(at, "in front of it is no branch"));
            }
            Op::End => check_end(unit, at, known)?,
            _ => {}
        }
    }
    check_entries(unit, &main)
}

/// No jump leads between the branches of a group.
fn check_entries(unit: &Unit<'_>, main: &Map) -> Result<(), Refusal> {
    let code = &unit.program().code;
    for (at, instr) in code.iter().enumerate() {
        let jumps = matches!(instr.op, Op::Jmp | Op::Jz | Op::Jnz) && main[at].is_some();
        let target = instr.c as usize;
        if jumps
            && target > 0
            && code[target - 1].op == Op::Spawn
            && matches!(code[target].op, Op::Spawn | Op::Join)
        {
            return Err(unit.refuse(at, "it jumps between the branches of a group"));
        }
    }
    Ok(())
}

/// All connections are closed at the end of a program.
fn check_end(unit: &Unit<'_>, at: usize, known: Known) -> Result<(), Refusal> {
    for (slot, connection) in unit.flow.connections.iter().enumerate() {
        if known.slots[slot] & !at_end(connection) != 0 {
            return Err(unit.refuse(at, format!("connection {slot} may still be open")));
        }
    }
    Ok(())
}

/// An instruction belongs to the program, or to one branch.
fn own(unit: &Unit<'_>, owner: &mut [usize], at: usize, by: usize) -> Result<(), Refusal> {
    if owner[at] != 0 && owner[at] != by {
        return Err(unit.refuse(at, "more than one branch, or the program itself, comes here"));
    }
    owner[at] = by;
    Ok(())
}

/// Follows a branch, which the instruction at `at` starts.
fn check_branch(unit: &Unit<'_>, owner: &mut [usize], at: usize, known: Known) -> Result<Uses, Refusal> {
    let code = &unit.program().code;
    let map = follow(unit, code[at].c as usize, Known { begun: false, ..known })?;
    let mut uses = Uses { number: 1 << code[at].a, ..Uses::default() };
    for (inner, instr) in code.iter().enumerate() {
        let Some(there) = map[inner] else { continue };
        own(unit, owner, inner, at + 1)?;
        match instr.op {
            Op::Spawn | Op::Join => return Err(unit.refuse(inner, "a branch starts no branches")),
            Op::Lat => return Err(unit.refuse(inner, "a branch measures no latency")),
            Op::End if !same_slots(&there, &known) => {
                return Err(unit.refuse(inner, "the branch leaves a connection otherwise than it found it"));
            }
            _ => {}
        }
        uses.slots |= uses_slot(*instr).map_or(0, |slot| 1 << slot);
        for access in accesses(unit, *instr) {
            match access {
                Access::Read(reg) => uses.touched |= 1 << reg,
                Access::Write(reg) => {
                    uses.touched |= 1 << reg;
                    uses.written |= 1 << reg;
                }
            }
        }
    }
    Ok(uses)
}

/// Whether a branch ends with each slot as it was at its start. A later slot may have been opened and closed.
fn same_slots(end: &Known, start: &Known) -> bool {
    let shut = |states| states & !(NEVER | FREE) == 0;
    let pairs = end.slots.iter().zip(&start.slots).enumerate();
    pairs.into_iter().all(|(slot, (end, start))| end == start || (slot > 0 && shut(*end) && shut(*start)))
}

/// Whether two branches can't run at the same time.
const fn clash(one: Uses, other: Uses) -> bool {
    one.number & other.number != 0
        || one.slots & other.slots != 0
        || one.written & other.touched != 0
        || other.written & one.touched != 0
}
