//! The programs of all flows in one row.

use crate::code::{Bundle, End, Instr, Op};

/// All instructions, and where each program begins.
#[derive(Debug)]
pub(crate) struct Programs {
    code: Vec<Instr>,
    /// Two for each flow: the client's and the server's.
    starts: Vec<u32>,
}

impl Programs {
    pub(crate) fn new(bundle: &Bundle) -> Self {
        let (mut code, mut starts) = (Vec::new(), Vec::new());
        for flow in &bundle.flows {
            for end in [End::Client, End::Server] {
                starts.push(code.len() as u32);
                code.extend_from_slice(&flow.program(end).code);
            }
        }
        // Past the end of the last program; the verifier proves that nothing gets there.
        code.push(Instr::new(Op::End, 0, 0, 0));
        Self { code, starts }
    }

    /// Where the program of an end begins.
    #[inline]
    pub(crate) fn start(&self, flow: u16, end: End) -> u32 {
        self.starts.get(usize::from(flow) * 2 + end as usize).copied().unwrap_or_default()
    }

    /// Instruction `pc` of the program that begins at `start`.
    #[inline]
    pub(crate) fn fetch(&self, start: u32, pc: u16) -> Instr {
        let at = (start as usize + usize::from(pc)).min(self.code.len() - 1);
        self.code[at]
    }
}
