//! The byte code: instructions, programs, and the tables that they name.
//!
//! A story becomes two [`Program`]s, one for each [`End`]. All that a run needs is a [`Bundle`].
//!
//! # Agreed values
//!
//! Both ends of a flow start their generator from the same number, and run `Rand` in the same order. So each knows what the other draws, and
//! checks each byte that it receives. Values that only one end knows (`Ephemeral`, `Now`) travel in messages, and the other end takes them.

mod bundle;
mod codec;
mod dist;
mod flow;
mod format;
mod instr;
mod list;
mod op;
mod operand;
mod parser;
mod plan;
mod pool;
mod raw;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod verify;

pub use bundle::{BUILT_IN, Bundle, Template};
pub use codec::{decode, encode};
pub use dist::{Dist, MAX_RANKS, Row, Shape};
pub use flow::{
    Answer, Connection, End, Estimate, Flow, Kind, MAX_BRANCHES, MAX_CONNECTIONS, MAX_INSTRUCTIONS,
    MAX_PARTS, MAX_REGISTERS, Parameter, Place, Program, ToPort, Transport,
};
pub use format::{Format, MAX_FORMAT, Piece};
pub use instr::{Instr, NONE};
pub use list::{instruction, list};
pub use op::Op;
pub use operand::Operand;
pub use parser::{MAX_HEAD, Method, Parser};
pub use plan::{Compare, Expectation, Load, Measure, Mix, Phase, Plan, Share, Spacing, Stop, Unit, What};
pub use pool::{Choice, Macs, Pool, Range, Vlans};
pub use raw::{Field, Fill, MARKER, Raw, Sum};
pub use verify::{Refusal, is_laboratory, verify};
