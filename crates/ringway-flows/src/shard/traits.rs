//! What an end of a flow needs.

use crate::code::{Bundle, End, Flow, Op};

/// What an end of a flow needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traits {
    pub(super) slots: u8,
    pub(super) registers: u8,
    pub(super) scratch: bool,
    pub(super) branches: bool,
}

impl Traits {
    pub(super) fn of(flow: &Flow, end: End) -> Self {
        let program = flow.program(end);
        let has = |op| program.code.iter().any(|instr| instr.op == op);
        Self {
            slots: flow.connections.len() as u8,
            registers: program.registers,
            scratch: has(Op::ExpectP) || has(Op::ExpectV),
            branches: has(Op::Spawn),
        }
    }

    /// Whether the end needs a row for its connections.
    pub(super) const fn has_row(&self) -> bool {
        self.slots > 1 || self.branches
    }
}

/// By flow, two each: the client's and the server's.
pub(super) fn all(bundle: &Bundle) -> Vec<Traits> {
    bundle.flows.iter().flat_map(|flow| [End::Client, End::Server].map(|end| Traits::of(flow, end))).collect()
}
