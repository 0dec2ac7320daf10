//! What reports and estimates ask of a shard.

use crate::code::{Bundle, End, Flow, Op};
use crate::machine::context::Context;
use crate::machine::message::Scratch;

use super::Shard;
use super::endpoint::{Endpoint, Row};

/// Bytes of a place in the table of connections, which is at most three quarters full.
const PLACE: usize = 6;
/// Words of a small block of registers and of a large one, with the word that links free blocks.
const SMALL_BLOCK: usize = 9;
const LARGE_BLOCK: usize = 17;

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
    let scratch = if has(Op::ExpectP) || has(Op::ExpectV) { size_of::<Scratch>() } else { 0 };
    let registers = match usize::from(program.registers) + scratch / size_of::<u64>() {
        0 => 0,
        1..SMALL_BLOCK => SMALL_BLOCK * size_of::<u64>(),
        _ => LARGE_BLOCK * size_of::<u64>() + size_of::<Scratch>(),
    };
    let row = if flow.connections.len() > 1 || has(Op::Spawn) { size_of::<Row>() } else { 0 };
    size_of::<Context>() + registers + row + flow.connections.len() * (size_of::<Endpoint>() + PLACE)
}
