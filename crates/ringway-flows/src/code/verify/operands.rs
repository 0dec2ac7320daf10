//! Checks of single instructions: each field names what exists, and each jump stays inside.

use super::Refusal;
use crate::code::list::instruction;
use crate::code::{
    Bundle, End, Flow, Instr, Kind, MAX_BRANCHES, MAX_CONNECTIONS, NONE, Op, Operand, Parser, Program,
};

/// Longest time that a program may wait, in ns: an hour.
const MAX_WAIT: u64 = 3_600_000_000_000;

/// The program that is looked at, and all that it names.
pub(super) struct Unit<'a> {
    /// The bundle.
    pub(super) bundle: &'a Bundle,
    /// The flow.
    pub(super) flow: &'a Flow,
    /// Whose program it is.
    pub(super) end: End,
}

impl Unit<'_> {
    /// The program.
    pub(super) fn program(&self) -> &Program {
        self.flow.program(self.end)
    }

    /// A refusal of an instruction.
    pub(super) fn refuse(&self, at: usize, what: impl Into<String>) -> Refusal {
        let text =
            self.program().code.get(at).map_or_else(String::new, |i| instruction(self.bundle, self.flow, *i));
        Refusal::of_program(self.bundle.name(self.flow.name), self.end, at, text, what.into())
    }
}

/// Looks at each instruction of a program.
pub(super) fn check(unit: &Unit<'_>) -> Result<(), Refusal> {
    let code = &unit.program().code;
    for (at, instr) in code.iter().enumerate() {
        check_fields(unit, *instr).map_err(|what| unit.refuse(at, what))?;
        check_kind(unit, *instr).map_err(|what| unit.refuse(at, what))?;
        if instr.op == Op::Retry {
            check_retry(unit, at)?;
        }
    }
    match code.last() {
        Some(last) if last.op.ends() => Ok(()),
        _ => Err(unit.refuse(code.len().saturating_sub(1), "the program runs off its end")),
    }
}

/// Each field names what exists.
fn check_fields(unit: &Unit<'_>, instr: Instr) -> Result<(), String> {
    let [a, b, c] = instr.op.operands();
    check_field(unit, instr, a, u32::from(instr.a))?;
    check_field(unit, instr, b, u32::from(instr.b))?;
    check_field(unit, instr, c, instr.c)
}

/// One field names what exists.
fn check_field(unit: &Unit<'_>, instr: Instr, operand: Operand, value: u32) -> Result<(), String> {
    let (bundle, flow) = (unit.bundle, unit.flow);
    let register = |value: u32| {
        if value < u32::from(unit.program().registers) {
            Ok(())
        } else {
            Err(format!("there is no register r{value}"))
        }
    };
    let slot = |value: u32| {
        if (value as usize) < flow.connections.len().min(MAX_CONNECTIONS) {
            Ok(())
        } else {
            Err(format!("the flow has no connection {value}"))
        }
    };
    let index = |what: &str, len: usize| {
        if (value as usize) < len { Ok(()) } else { Err(format!("there is no {what} {value}")) }
    };
    let at_most =
        |most: u32| if value <= most { Ok(()) } else { Err(format!("{value} is more than {most}")) };
    match operand {
        Operand::Unused => at_most(0),
        Operand::Slot => slot(value),
        Operand::SlotEnd => slot(value & 0xff).and_then(|()| at_most(0x1ff)),
        Operand::Read | Operand::Write => register(value),
        Operand::ReadOrNone if value == u32::from(NONE) => Ok(()),
        Operand::ReadOrNone => register(value),
        Operand::ReadTwo | Operand::ReadWrite => register(value & 0xff).and_then(|()| register(value >> 8)),
        Operand::Captures => match bundle.parsers.get(instr.c as usize).map_or(0, |p| p.captures()) {
            0 => at_most(0),
            count => register(value + u32::from(count) - 1),
        },
        Operand::Immediate => Ok(()),
        Operand::Target => index("instruction", unit.program().code.len()),
        Operand::Branch => at_most(MAX_BRANCHES as u32 - 1),
        Operand::Edge => at_most(1),
        Operand::Constant => index("constant", bundle.constants.len()),
        Operand::Template => index("template", bundle.templates.len()),
        Operand::Format => {
            index("format", bundle.formats.len())?;
            check_format(unit, instr, register, slot)
        }
        Operand::Parser => {
            index("parser", bundle.parsers.len())?;
            match bundle.parsers[value as usize] {
                Parser::DnsReply { id, question, .. } => {
                    register(u32::from(id))?;
                    check_pieces(&bundle.formats[question as usize].pieces, register, slot)
                }
                _ => Ok(()),
            }
        }
        Operand::Dist => index("distribution", bundle.dists.len()),
        Operand::Counter => index("counter", flow.counters.len()),
        Operand::Latency => index("latency", if instr.a == 0 { 1 } else { flow.latencies.len() }),
        Operand::Name => index("name", bundle.names.len()),
        Operand::Raw => index("raw packet", bundle.raws.len()),
    }
}

/// The registers and slots of a format exist, and what is sent takes nothing.
fn check_format(
    unit: &Unit<'_>,
    instr: Instr,
    register: impl Fn(u32) -> Result<(), String>,
    slot: impl Fn(u32) -> Result<(), String>,
) -> Result<(), String> {
    let pieces = &unit.bundle.formats[instr.c as usize].pieces;
    if instr.op == Op::SendV && pieces.iter().any(|piece| piece.takes().is_some()) {
        return Err("a format that is sent takes no values".to_owned());
    }
    check_pieces(pieces, register, slot)
}

/// The registers and slots of pieces exist.
fn check_pieces(
    pieces: &[crate::code::Piece],
    register: impl Fn(u32) -> Result<(), String>,
    slot: impl Fn(u32) -> Result<(), String>,
) -> Result<(), String> {
    for piece in pieces {
        piece.reads().or(piece.takes()).map_or(Ok(()), |reg| register(u32::from(reg)))?;
        piece.slot().map_or(Ok(()), |number| slot(u32::from(number)))?;
    }
    Ok(())
}

/// Only an attack does what is set aside for attacks, and templates that are repeated are not empty.
fn check_kind(unit: &Unit<'_>, instr: Instr) -> Result<(), &'static str> {
    let only_attacks = matches!(instr.op, Op::Probe | Op::RawPkt);
    if only_attacks && (unit.flow.kind != Kind::Attack || unit.end == End::Server) {
        return Err("only the client of an attack may do this");
    }
    if instr.op == Op::Timeout {
        let limit = unit.bundle.constants[instr.c as usize];
        if !(1..=MAX_WAIT).contains(&limit) || instr.c >= u32::from(u16::MAX) {
            return Err("a timeout is above 0 and at most 1 h, and one of the first 65535 constants");
        }
    }
    if matches!(instr.op, Op::SendW | Op::ExpectW) && unit.bundle.template(instr.c).is_empty() {
        return Err("an empty template cannot be repeated");
    }
    Ok(())
}

/// Behind a retry are only sends and arithmetic, up to an expectation of its slot.
fn check_retry(unit: &Unit<'_>, at: usize) -> Result<(), Refusal> {
    let code = &unit.program().code;
    let slot = code[at].a;
    for instr in &code[at + 1..] {
        let arithmetic = (Op::Ld as u8..=Op::Le as u8).contains(&(instr.op as u8));
        let mine = instr.a == slot;
        match instr.op {
            op if op.takes() && mine => return Ok(()),
            op if (op.sends() || op == Op::SendEnd) && mine => {}
            Op::Lat if instr.a == 0 => {}
            _ if arithmetic => {}
            _ => break,
        }
    }
    Err(unit.refuse(at, "behind it are not only sends on its slot, up to an expectation"))
}
