//! Translation: a filter as a whole eBPF program that stands before another one. Frames that match go on to the program in
//! slot 0 of a program array (a tail call); the rest gets a verdict that leaves it to the host.
//!
//! | eBPF | holds |
//! | --- | --- |
//! | r6 | the context |
//! | r7, r8 | A, X |
//! | stack | 8 bytes for loads from fragments, then the 16 scratch words |
//!
//! A load reads the packet directly where its first part reaches, else asks the kernel, which knows fragments too. Code that
//! no path reaches is left out, for the verifier refuses it.

use libbpf_sys as bpf;

use super::insn::{Alu, Op, Operand, Reg, Test, Value};

/// Where the program will be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// XDP, by programs that know frames in several buffers (`xdp.frags`).
    Xdp,
    /// tcx on egress.
    TcxEgress,
}

/// What differs between the hooks.
struct Context {
    /// Offsets of `data` and `data_end`.
    data: i16,
    data_end: i16,
    /// Offset of the frame's length, if the context has it.
    len: Option<i16>,
    load_bytes: u32,
    /// The verdict for frames that do not match: go on as if there were no program.
    pass: i32,
}

impl Hook {
    fn context(self) -> Context {
        match self {
            // struct xdp_md; XDP_PASS
            Self::Xdp => {
                Context { data: 0, data_end: 4, len: None, load_bytes: bpf::BPF_FUNC_xdp_load_bytes, pass: 2 }
            }
            // struct __sk_buff; TCX_NEXT
            Self::TcxEgress => Context {
                data: 76,
                data_end: 80,
                len: Some(0),
                load_bytes: bpf::BPF_FUNC_skb_load_bytes,
                pass: -1,
            },
        }
    }
}

/// Offsets up to here are read directly: the verifier lets a packet have 65535 bytes.
const NEAR: u32 = 0xff00;

const CTX: u8 = 6;
const A: u8 = 7;
const X: u8 = 8;
const STACK: u8 = 10;

/// Where loads by the kernel go, and the first scratch word, relative to the stack's top.
const LOADED: i16 = -8;
const WORD_0: i16 = -72;

/// Classes, sizes and operations of linux/bpf.h and linux/bpf_common.h.
const LDX_MEM: u8 = 0x61;
const STX_MEM: u8 = 0x63;
const ALU32: u8 = 0x04;
const ALU64: u8 = 0x07;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const REGISTER: u8 = 0x08;
const ADD: u8 = 0x00;
const NEG: u8 = 0x80;
const MOV: u8 = 0xb0;
const TO_BIG_ENDIAN: u8 = 0xdc;
const JA: u8 = 0x00;
const JEQ: u8 = 0x10;
const JGT: u8 = 0x20;
const JNE: u8 = 0x50;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;

/// The program for a checked filter; `array` is the descriptor of the program array. Or why there is none.
pub(super) fn translate(ops: &[Op], hook: Hook, array: i32) -> Result<Vec<bpf::bpf_insn>, &'static str> {
    let mut t =
        Translator { context: hook.context(), code: Vec::new(), jumps: Vec::new(), starts: Vec::new() };
    t.code.push(insn(ALU64 | MOV | REGISTER, CTX, 1, 0, 0));
    t.code.push(insn(ALU32 | MOV, A, 0, 0, 0));
    t.code.push(insn(ALU32 | MOV, X, 0, 0, 0));
    for (&op, reached) in ops.iter().zip(reached(ops)) {
        t.starts.push(t.code.len());
        if reached {
            t.op(op);
        }
    }
    t.finish(array)
}

/// Which instructions can be reached. All jumps lead forward.
fn reached(ops: &[Op]) -> Vec<bool> {
    let mut reached = vec![false; ops.len()];
    reached[0] = true;
    for (at, &op) in ops.iter().enumerate() {
        if !reached[at] {
            continue;
        }
        match op {
            Op::Jump { to } => reached[to as usize] = true,
            Op::Branch { yes, no, .. } => {
                reached[yes as usize] = true;
                reached[no as usize] = true;
            }
            Op::Return(_) | Op::ReturnA => {}
            _ => reached[at + 1] = true,
        }
    }
    reached
}

/// Where a jump leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Op(u32),
    Match,
    NoMatch,
}

struct Translator {
    context: Context,
    code: Vec<bpf::bpf_insn>,
    /// Jumps whose offsets are set at the end.
    jumps: Vec<(usize, To)>,
    /// Where the code of each classic instruction starts.
    starts: Vec<usize>,
}

impl Translator {
    fn op(&mut self, op: Op) {
        match op {
            Op::Load { bytes, ofs, indexed } => self.load(A, bytes, ofs, indexed),
            Op::HeaderLen { ofs } => {
                self.load(X, 1, ofs, false);
                self.push(ALU32 | alu(Alu::And), X, 0, 0, 15);
                self.push(ALU32 | alu(Alu::Lsh), X, 0, 0, 2);
            }
            Op::Set(to, Value::K(k)) => self.push(ALU32 | MOV, reg(to), 0, 0, k),
            Op::Set(to, Value::Reg(from)) => self.push(ALU32 | MOV | REGISTER, reg(to), reg(from), 0, 0),
            Op::Set(to, Value::Word(w)) => self.push(LDX_MEM, reg(to), STACK, WORD_0 + 4 * w as i16, 0),
            Op::Set(to, Value::FrameLen) => self.frame_len(reg(to)),
            Op::Store { word, from } => self.push(STX_MEM, STACK, reg(from), WORD_0 + 4 * word as i16, 0),
            Op::Alu(op, Operand::K(k)) => self.push(ALU32 | alu(op), A, 0, 0, k),
            Op::Alu(op, Operand::X) => {
                if matches!(op, Alu::Div | Alu::Mod) {
                    self.jump(JMP32 | JEQ, X, Operand::K(0), To::NoMatch);
                }
                self.push(ALU32 | alu(op) | REGISTER, A, X, 0, 0);
            }
            Op::Neg => self.push(ALU32 | NEG, A, 0, 0, 0),
            Op::Jump { to } => self.jump(JMP | JA, 0, Operand::K(0), To::Op(to)),
            Op::Branch { test, operand, yes, no } => {
                self.jump(JMP32 | jump_if(test), A, operand, To::Op(yes));
                self.jump(JMP | JA, 0, Operand::K(0), To::Op(no));
            }
            Op::Return(0) => self.jump(JMP | JA, 0, Operand::K(0), To::NoMatch),
            Op::Return(_) => self.jump(JMP | JA, 0, Operand::K(0), To::Match),
            Op::ReturnA => {
                self.jump(JMP32 | JNE, A, Operand::K(0), To::Match);
                self.jump(JMP | JA, 0, Operand::K(0), To::NoMatch);
            }
        }
    }

    /// `to` = big-endian number of `bytes` bytes at `ofs`, plus X when `indexed`.
    fn load(&mut self, to: u8, bytes: u8, ofs: u32, indexed: bool) {
        let (data, data_end) = (self.context.data, self.context.data_end);
        let size = LDX_MEM & !0x18 | [0x10, 0x08, 0x08, 0x00][usize::from(bytes - 1)];
        // X is added to the offset, not the other way round: a copy of X plus a constant stays linked to X, and the verifier
        // (since Linux 6.12) refuses to add it to a pointer when the constant is large.
        self.push(ALU32 | MOV, 5, 0, 0, ofs);
        if indexed {
            self.push(ALU32 | ADD | REGISTER, 5, X, 0, 0);
        }
        let direct = indexed || ofs <= NEAR;
        let mut to_kernel = Vec::new();
        let mut done = None;
        if direct {
            if indexed {
                to_kernel.push(self.push_jump(JMP | JGT, 5, 0, NEAR));
            }
            self.push(LDX_MEM, 2, CTX, data, 0);
            self.push(LDX_MEM, 3, CTX, data_end, 0);
            self.push(ALU64 | ADD | REGISTER, 2, 5, 0, 0);
            self.push(ALU64 | MOV | REGISTER, 4, 2, 0, 0);
            self.push(ALU64 | ADD, 4, 0, 0, bytes.into());
            to_kernel.push(self.push_jump(JMP | JGT | REGISTER, 4, 3, 0));
            self.push(size, 0, 2, 0, 0);
            done = Some(self.push_jump(JMP | JA, 0, 0, 0));
        }
        to_kernel.into_iter().for_each(|j| self.land(j));
        self.push(ALU64 | MOV | REGISTER, 1, CTX, 0, 0);
        self.push(ALU64 | MOV | REGISTER, 2, 5, 0, 0);
        self.push(ALU64 | MOV | REGISTER, 3, STACK, 0, 0);
        self.push(ALU64 | ADD, 3, 0, 0, LOADED as u32);
        self.push(ALU64 | MOV, 4, 0, 0, bytes.into());
        self.push(JMP | CALL, 0, 0, 0, self.context.load_bytes);
        self.jump(JMP | JNE, 0, Operand::K(0), To::NoMatch);
        self.push(size, 0, STACK, LOADED, 0);
        done.into_iter().for_each(|j| self.land(j));
        if bytes > 1 {
            self.push(TO_BIG_ENDIAN, 0, 0, 0, 8 * u32::from(bytes));
        }
        self.push(ALU32 | MOV | REGISTER, to, 0, 0, 0);
    }

    fn frame_len(&mut self, to: u8) {
        if let Some(ofs) = self.context.len {
            self.push(LDX_MEM, to, CTX, ofs, 0);
            return;
        }
        self.push(ALU64 | MOV | REGISTER, 1, CTX, 0, 0);
        self.push(JMP | CALL, 0, 0, 0, bpf::BPF_FUNC_xdp_get_buff_len);
        self.push(ALU32 | MOV | REGISTER, to, 0, 0, 0);
    }

    fn push(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: u32) {
        self.code.push(insn(code, dst, src, off, imm));
    }

    /// A jump within the code of one classic instruction: [`land`](Self::land) sets where it leads.
    fn push_jump(&mut self, code: u8, dst: u8, src: u8, imm: u32) -> usize {
        self.push(code, dst, src, 0, imm);
        self.code.len() - 1
    }

    fn land(&mut self, jump: usize) {
        self.code[jump].off = (self.code.len() - jump - 1) as i16;
    }

    fn jump(&mut self, code: u8, dst: u8, operand: Operand, to: To) {
        self.jumps.push((self.code.len(), to));
        match operand {
            Operand::K(k) => self.push(code, dst, 0, 0, k),
            Operand::X => self.push(code | REGISTER, dst, X, 0, 0),
        }
    }

    /// Adds both ends and sets the jumps.
    fn finish(mut self, array: i32) -> Result<Vec<bpf::bpf_insn>, &'static str> {
        let on_match = self.code.len();
        if self.jumps.iter().any(|&(_, to)| to == To::Match) {
            self.push(ALU64 | MOV | REGISTER, 1, CTX, 0, 0);
            // A 64-bit constant that the kernel takes for a map: two instructions.
            self.push(0x18, 2, bpf::BPF_PSEUDO_MAP_FD as u8, 0, array as u32);
            self.push(0, 0, 0, 0, 0);
            self.push(ALU64 | MOV, 3, 0, 0, 0);
            // Comes back only when the slot is empty: the port is being closed.
            self.push(JMP | CALL, 0, 0, 0, bpf::BPF_FUNC_tail_call);
        }
        let no_match = self.code.len();
        self.push(ALU64 | MOV, 0, 0, 0, self.context.pass as u32);
        self.push(JMP | EXIT, 0, 0, 0, 0);
        for (at, to) in self.jumps {
            let to = match to {
                To::Op(n) => self.starts[n as usize],
                To::Match => on_match,
                To::NoMatch => no_match,
            };
            let off = i16::try_from(to - at - 1);
            self.code[at].off =
                off.map_err(|_| "the filter is too long for eBPF, whose jumps reach 32767 instructions")?;
        }
        Ok(self.code)
    }
}

fn insn(code: u8, dst: u8, src: u8, off: i16, imm: u32) -> bpf::bpf_insn {
    let mut i = bpf::bpf_insn { code, off, imm: imm as i32, ..Default::default() };
    i.set_dst_reg(dst);
    i.set_src_reg(src);
    i
}

fn reg(reg: Reg) -> u8 {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}

fn alu(op: Alu) -> u8 {
    match op {
        Alu::Add => ADD,
        Alu::Sub => 0x10,
        Alu::Mul => 0x20,
        Alu::Div => 0x30,
        Alu::Or => 0x40,
        Alu::And => 0x50,
        Alu::Lsh => 0x60,
        Alu::Rsh => 0x70,
        Alu::Mod => 0x90,
        Alu::Xor => 0xa0,
    }
}

fn jump_if(test: Test) -> u8 {
    match test {
        Test::Equal => JEQ,
        Test::Greater => JGT,
        Test::GreaterOrEqual => 0x30,
        Test::AnyBit => 0x40,
    }
}
