//! The programs of all flows in one row.

use crate::code::{Bundle, End, Instr, Op};

/// All instructions, and where each program begins. Jumps go to places among all instructions.
#[derive(Debug)]
pub(crate) struct Programs {
    code: Vec<Instr>,
    /// Two for each flow: the client's and the server's.
    starts: Vec<u32>,
}

const END: Instr = Instr { op: Op::End, a: 0, b: 0, c: 0 };

impl Programs {
    pub(crate) fn new(bundle: &Bundle) -> Self {
        let (mut code, mut starts) = (Vec::new(), Vec::new());
        for flow in &bundle.flows {
            for end in [End::Client, End::Server] {
                let start = code.len() as u32;
                starts.push(start);
                let moved = |instr: &Instr| match instr.op {
                    Op::Jmp | Op::Jz | Op::Jnz | Op::Spawn => Instr { c: instr.c + start, ..*instr },
                    _ => *instr,
                };
                code.extend(flow.program(end).code.iter().map(moved));
            }
        }
        Self { code, starts }
    }

    /// Where the program of an end begins.
    #[inline]
    pub(crate) fn start(&self, flow: u16, end: End) -> u32 {
        self.starts.get(usize::from(flow) * 2 + end as usize).copied().unwrap_or_default()
    }

    /// An instruction. The end of a program for a place without any, which the verifier rules out.
    #[inline(always)]
    pub(crate) fn fetch(&self, pc: u32) -> Instr {
        self.code.get(pc as usize).copied().unwrap_or(END)
    }
}
