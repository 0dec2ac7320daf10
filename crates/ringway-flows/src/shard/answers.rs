//! What comes to clients for no connection: answers to the packets of attacks, as a rule.

use crate::transport::segment::{Segment, flag};

/// A kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// A port would open a connection.
    SynAck,
    /// A port is closed, or the packet belonged to nothing.
    Reset,
    /// Any other segment of TCP.
    Segment,
    /// A datagram of UDP.
    Datagram,
    /// An error of ICMP.
    Unreachable,
    /// An answer of ICMP's echo.
    Echo,
}

impl Answered {
    /// All of them, in their order.
    pub const ALL: [Self; 6] =
        [Self::SynAck, Self::Reset, Self::Segment, Self::Datagram, Self::Unreachable, Self::Echo];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SynAck => "syn_ack",
            Self::Reset => "reset",
            Self::Segment => "segment",
            Self::Datagram => "datagram",
            Self::Unreachable => "unreachable",
            Self::Echo => "echo",
        }
    }

    /// The kind of a segment.
    pub(super) fn of(segment: &Segment<'_>) -> Self {
        match (segment.has(flag::RST), segment.has(flag::SYN) && segment.has(flag::ACK)) {
            (true, _) => Self::Reset,
            (_, true) => Self::SynAck,
            _ => Self::Segment,
        }
    }
}
