//! Instructions, decoded.

use crate::libpcap::Insn;

/// Scratch words, `BPF_MEMWORDS`.
pub(super) const WORDS: usize = 16;

/// What an instruction does. Offsets, words and jump targets are in range once `check` has passed; targets are numbers of
/// instructions and lie behind the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// A = a big-endian number of 1, 2 or 4 bytes in the frame, at `ofs`, plus X when `indexed`.
    Load {
        bytes: u8,
        ofs: u32,
        indexed: bool,
    },
    /// X = 4 * (the byte at `ofs` & 15): the length of an IPv4 header.
    HeaderLen {
        ofs: u32,
    },
    /// A or X takes a value.
    Set(Reg, Value),
    /// A scratch word takes the value of A or X.
    Store {
        word: u32,
        from: Reg,
    },
    /// A = A `op` operand.
    Alu(Alu, Operand),
    /// A = -A.
    Neg,
    Jump {
        to: u32,
    },
    Branch {
        test: Test,
        operand: Operand,
        yes: u32,
        no: u32,
    },
    /// Ends with a constant.
    Return(u32),
    /// Ends with A.
    ReturnA,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reg {
    A,
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    K(u32),
    FrameLen,
    Word(u32),
    Reg(Reg),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    K(u32),
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Lsh,
    Rsh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
}

impl Insn {
    /// The meaning of instruction number `at`; `None` when the kernel knows no such operation.
    pub(super) fn decode(self, at: u32) -> Option<Op> {
        let k = self.k;
        let next = at + 1;
        // The octets are those of linux/bpf_common.h: class, then size and mode, or operation and source.
        Some(match self.code {
            0x20 | 0x28 | 0x30 => Op::Load { bytes: bytes(self.code), ofs: k, indexed: false },
            0x40 | 0x48 | 0x50 => Op::Load { bytes: bytes(self.code), ofs: k, indexed: true },
            0xb1 => Op::HeaderLen { ofs: k },
            0x00 => Op::Set(Reg::A, Value::K(k)),
            0x60 => Op::Set(Reg::A, Value::Word(k)),
            0x80 => Op::Set(Reg::A, Value::FrameLen),
            0x87 => Op::Set(Reg::A, Value::Reg(Reg::X)),
            0x01 => Op::Set(Reg::X, Value::K(k)),
            0x61 => Op::Set(Reg::X, Value::Word(k)),
            0x81 => Op::Set(Reg::X, Value::FrameLen),
            0x07 => Op::Set(Reg::X, Value::Reg(Reg::A)),
            0x02 => Op::Store { word: k, from: Reg::A },
            0x03 => Op::Store { word: k, from: Reg::X },
            0x84 => Op::Neg,
            0x05 => Op::Jump { to: next.saturating_add(k) },
            0x06 => Op::Return(k),
            0x16 => Op::ReturnA,
            code if code & !0xf8 == 4 => Op::Alu(alu(code & 0xf0)?, self.operand()),
            code if code & !0xf8 == 5 => Op::Branch {
                test: test(code & 0xf0)?,
                operand: self.operand(),
                yes: next + u32::from(self.jt),
                no: next + u32::from(self.jf),
            },
            _ => return None,
        })
    }

    fn operand(self) -> Operand {
        if self.code & 0x08 == 0 { Operand::K(self.k) } else { Operand::X }
    }
}

fn bytes(code: u16) -> u8 {
    match code & 0x18 {
        0x00 => 4,
        0x08 => 2,
        _ => 1,
    }
}

fn alu(op: u16) -> Option<Alu> {
    Some(match op {
        0x00 => Alu::Add,
        0x10 => Alu::Sub,
        0x20 => Alu::Mul,
        0x30 => Alu::Div,
        0x40 => Alu::Or,
        0x50 => Alu::And,
        0x60 => Alu::Lsh,
        0x70 => Alu::Rsh,
        0x90 => Alu::Mod,
        0xa0 => Alu::Xor,
        _ => return None,
    })
}

fn test(op: u16) -> Option<Test> {
    Some(match op {
        0x10 => Test::Equal,
        0x20 => Test::Greater,
        0x30 => Test::GreaterOrEqual,
        0x40 => Test::AnyBit,
        _ => return None,
    })
}
