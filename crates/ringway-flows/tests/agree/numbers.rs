//! Draws and sums of the interpreter.

use ringway_flows::code::{Dist, Op, Shape};

/// The next number of a generator.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Some value of a distribution. Only its bounds and its kind matter here.
pub(crate) fn draw(dist: &Dist, random: u64) -> u64 {
    match &dist.shape {
        Shape::Table(rows) => {
            let row = rows[random as usize % rows.len()];
            row.lo + random % (row.hi - row.lo + 1)
        }
        _ => dist.lo + random % (dist.hi - dist.lo + 1),
    }
}

/// The result of an operation on two numbers.
pub(crate) fn calculate(op: Op, a: u64, b: u64) -> u64 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div => a / b,
        Op::Rem => a % b,
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => a << (b % 64),
        Op::Shr => a >> (b % 64),
        Op::Eq => u64::from(a == b),
        Op::Ne => u64::from(a != b),
        Op::Lt => u64::from(a < b),
        Op::Le => u64::from(a <= b),
        other => panic!("{other:?} is no operation on two numbers"),
    }
}
