//! The meaning of a field of an instruction. The verifier and the listing follow it.

/// The meaning of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Nothing: the field is 0.
    Unused,
    /// The number of a connection of the flow.
    Slot,
    /// The number of a connection in the low byte, an end (0 client, 1 server) in the high one.
    SlotEnd,
    /// A register that is read. In field `c` it is the low byte, and the rest is 0.
    Read,
    /// A register that is read, or [`NONE`](super::NONE).
    ReadOrNone,
    /// Two registers that are read, in the low and the high byte.
    ReadTwo,
    /// A register that is read in the low byte, and one that is written in the high one.
    ReadWrite,
    /// A register that is written.
    Write,
    /// The first register for the captures of a parser.
    Captures,
    /// A number.
    Immediate,
    /// The number of an instruction of the program.
    Target,
    /// The number of a branch.
    Branch,
    /// 0 where a latency begins, 1 where it ends.
    Edge,
    /// An index into the constants.
    Constant,
    /// An index into the templates.
    Template,
    /// An index into the formats.
    Format,
    /// An index into the parsers.
    Parser,
    /// An index into the distributions.
    Dist,
    /// An index into the flow's counters.
    Counter,
    /// An index into the flow's latencies.
    Latency,
    /// An index into the names.
    Name,
    /// An index into the raw packets.
    Raw,
}
