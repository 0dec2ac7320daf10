//! Operations on two numbers.

use crate::code::Op;

/// The result of an operation on two registers. `None`: a division by zero.
#[inline]
pub(crate) fn compute(op: Op, x: u64, y: u64) -> Option<u64> {
    Some(match op {
        Op::Add => x.wrapping_add(y),
        Op::Sub => x.wrapping_sub(y),
        Op::Mul => x.wrapping_mul(y),
        Op::Div => return x.checked_div(y),
        Op::Rem => return x.checked_rem(y),
        Op::Min => x.min(y),
        Op::Max => x.max(y),
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::Shl => x << (y % 64),
        Op::Shr => x >> (y % 64),
        Op::Eq => u64::from(x == y),
        Op::Ne => u64::from(x != y),
        Op::Lt => u64::from(x < y),
        _ => u64::from(x <= y),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_the_byte_code() {
        let cases = [
            (Op::Add, u64::MAX, 2, Some(1)),
            (Op::Sub, 1, 2, Some(u64::MAX)),
            (Op::Mul, 1 << 63, 2, Some(0)),
            (Op::Div, 7, 2, Some(3)),
            (Op::Div, 7, 0, None),
            (Op::Rem, 7, 2, Some(1)),
            (Op::Rem, 7, 0, None),
            (Op::Min, 3, 4, Some(3)),
            (Op::Max, 3, 4, Some(4)),
            (Op::And, 6, 3, Some(2)),
            (Op::Or, 6, 3, Some(7)),
            (Op::Xor, 6, 3, Some(5)),
            (Op::Shl, 1, 65, Some(2)),
            (Op::Shr, 4, 65, Some(2)),
            (Op::Eq, 4, 4, Some(1)),
            (Op::Ne, 4, 4, Some(0)),
            (Op::Lt, 4, 4, Some(0)),
            (Op::Le, 4, 4, Some(1)),
        ];
        for (op, x, y, result) in cases {
            assert_eq!(compute(op, x, y), result, "{op:?} {x} {y}");
        }
    }
}
