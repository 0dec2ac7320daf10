//! What reports and estimates ask of a shard.

use crate::code::{Bundle, End, Flow, Op};
use crate::machine::context::Context;
use crate::machine::registers::block_bytes;

use super::Shard;
use super::endpoint::{Endpoint, Row};

/// Bytes of a place in the table of connections, which is at most three quarters full.
const PLACE: usize = 6;

impl Shard {
    /// The bundle that the shard runs.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Frames that were refused, by reason, of both sides together.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let [near, far] = &self.nets;
        near.refusals().iter().zip(far.refusals().iter()).map(|((why, near), (_, far))| (why, near + far))
    }
}

/// Bytes of records that an end of a flow has while it runs with all its connections and nothing to send.
pub fn end_bytes(flow: &Flow, end: End) -> usize {
    let program = flow.program(end);
    let has = |op| program.code.iter().any(|instr| instr.op == op);
    let registers = block_bytes(program.registers, has(Op::ExpectP) || has(Op::ExpectV));
    let row = if flow.connections.len() > 1 || has(Op::Spawn) { size_of::<Row>() } else { 0 };
    size_of::<Context>() + registers + row + flow.connections.len() * (size_of::<Endpoint>() + PLACE)
}
