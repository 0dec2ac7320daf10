//! The interpreter.

use super::insn::{Alu, Op, Operand, Reg, Test, Value, WORDS};

/// Runs a checked program on a frame. Every jump leads forward, so it ends.
pub(super) fn run(ops: &[Op], frame: &[u8]) -> u32 {
    let (mut a, mut x) = (0u32, 0u32);
    let mut words = [0u32; WORDS];
    let mut at = 0;
    while let Some(&op) = ops.get(at as usize) {
        at += 1;
        let operand = |by| match by {
            Operand::K(k) => k,
            Operand::X => x,
        };
        match op {
            Op::Load { bytes, ofs, indexed } => {
                let ofs = if indexed { ofs.wrapping_add(x) } else { ofs };
                let Some(v) = load(frame, ofs, bytes) else { return 0 };
                a = v;
            }
            Op::HeaderLen { ofs } => {
                let Some(v) = load(frame, ofs, 1) else { return 0 };
                x = 4 * (v & 15);
            }
            Op::Set(reg, value) => {
                let v = match value {
                    Value::K(k) => k,
                    Value::FrameLen => frame.len() as u32,
                    Value::Word(w) => words[w as usize],
                    Value::Reg(Reg::A) => a,
                    Value::Reg(Reg::X) => x,
                };
                match reg {
                    Reg::A => a = v,
                    Reg::X => x = v,
                }
            }
            Op::Store { word, from: Reg::A } => words[word as usize] = a,
            Op::Store { word, from: Reg::X } => words[word as usize] = x,
            Op::Alu(op, by) => {
                let Some(v) = alu(op, a, operand(by)) else { return 0 };
                a = v;
            }
            Op::Neg => a = a.wrapping_neg(),
            Op::Jump { to } => at = to,
            Op::Branch { test, operand: by, yes, no } => {
                at = if holds(test, a, operand(by)) { yes } else { no }
            }
            Op::Return(k) => return k,
            Op::ReturnA => return a,
        }
    }
    0
}

/// A big-endian number in the frame; `None` when it reaches beyond the end.
fn load(frame: &[u8], ofs: u32, bytes: u8) -> Option<u32> {
    let at = frame.get(ofs as usize..)?.get(..bytes.into())?;
    Some(at.iter().fold(0, |v, &b| v << 8 | u32::from(b)))
}

/// `None` for a division by zero.
fn alu(op: Alu, a: u32, b: u32) -> Option<u32> {
    Some(match op {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::Mul => a.wrapping_mul(b),
        Alu::Div => a.checked_div(b)?,
        Alu::Mod => a.checked_rem(b)?,
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Lsh => a.wrapping_shl(b),
        Alu::Rsh => a.wrapping_shr(b),
    })
}

fn holds(test: Test, a: u32, b: u32) -> bool {
    match test {
        Test::Equal => a == b,
        Test::Greater => a > b,
        Test::GreaterOrEqual => a >= b,
        Test::AnyBit => a & b != 0,
    }
}
