//! One instruction: 8 bytes.

use super::Op;

/// A register field that names no register.
pub const NONE: u8 = 255;

/// An instruction. [`Op`] says what its fields mean; a field without a meaning is 0.
///
/// ```
/// use ringway_flows::code::{Instr, Op};
///
/// let sum = Instr::two(Op::Add, 2, 0, 1);
/// assert_eq!((sum.a, sum.low(), sum.high()), (2, 0, 1));
/// assert_eq!(Instr::from_bytes(sum.to_bytes()), Some(sum));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instr {
    /// What to do.
    pub op: Op,
    /// First operand: a slot, a register, a branch.
    pub a: u8,
    /// Second operand: a register, two registers, a number.
    pub b: u16,
    /// Third operand: an index into a table of the bundle, the number of an instruction, a number.
    pub c: u32,
}

const _: () = assert!(size_of::<Instr>() == 8, "an instruction has 8 bytes");

impl Instr {
    /// An instruction of its parts.
    #[must_use]
    pub const fn new(op: Op, a: u8, b: u16, c: u32) -> Self {
        Self { op, a, b, c }
    }

    /// An instruction whose `b` names two registers.
    #[must_use]
    pub const fn two(op: Op, a: u8, low: u8, high: u8) -> Self {
        Self::new(op, a, low as u16 | (high as u16) << 8, 0)
    }

    /// The low byte of `b`: its register, or the first of two.
    #[must_use]
    pub const fn low(self) -> u8 {
        (self.b & 0xff) as u8
    }

    /// The high byte of `b`: the second of two registers, or an end.
    #[must_use]
    pub const fn high(self) -> u8 {
        (self.b >> 8) as u8
    }

    /// The register in `c` of `SendR` and `ExpectR`.
    #[must_use]
    pub const fn third(self) -> u8 {
        (self.c & 0xff) as u8
    }

    /// Its 8 bytes in a file, little-endian.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        let (b, c) = (self.b.to_le_bytes(), self.c.to_le_bytes());
        [self.op as u8, self.a, b[0], b[1], c[0], c[1], c[2], c[3]]
    }

    /// The instruction in 8 bytes of a file, if its operation exists.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        let [op, a, b0, b1, c0, c1, c2, c3] = bytes;
        match Op::from_number(op) {
            Some(op) => {
                Some(Self::new(op, a, u16::from_le_bytes([b0, b1]), u32::from_le_bytes([c0, c1, c2, c3])))
            }
            None => None,
        }
    }
}
