//! A program between an interface and the stack that only jumps to the one in its program array. While the array is empty it passes all.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libbpf_sys as bpf;

use super::bpf::{load, put_program};
use super::bpf_probe::map;

/// The program to attach and its array, which the kernel empties when its last descriptor and its last pin are gone.
#[derive(Debug)]
pub struct Jump {
    /// The program to attach.
    pub entry: OwnedFd,
    /// The array of one program, into which the entry jumps.
    pub array: OwnedFd,
}

impl Jump {
    /// One to `program`, which was loaded for the hook `attach`.
    pub fn to(program: BorrowedFd<'_>, attach: bpf::bpf_attach_type) -> io::Result<Self> {
        let array = map(bpf::BPF_MAP_TYPE_PROG_ARRAY, 0, (4, 4), 1)?;
        put_program(array.as_fd(), program)?;
        let code = code(array.as_raw_fd());
        Ok(Self { entry: load(bpf::BPF_PROG_TYPE_SCHED_CLS, attach, 0, &code)?, array })
    }
}

/// `bpf_tail_call(ctx, array, 0); return TCX_NEXT;`, which is `TC_ACT_UNSPEC`, too.
fn code(array: i32) -> [bpf::bpf_insn; 6] {
    const LOAD_IMM64: u8 = 0x18;
    const MOV_IMM: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    let insn = |code, register, source, imm| {
        let mut insn = bpf::bpf_insn { code, imm, ..Default::default() };
        insn.set_dst_reg(register);
        insn.set_src_reg(source);
        insn
    };
    [
        insn(LOAD_IMM64, 2, bpf::BPF_PSEUDO_MAP_FD as u8, array),
        insn(0, 0, 0, 0),
        insn(MOV_IMM, 3, 0, 0),
        insn(CALL, 0, 0, bpf::BPF_FUNC_tail_call as i32),
        insn(MOV_IMM, 0, 0, -1),
        insn(EXIT, 0, 0, 0),
    ]
}
