//! What a story has: names, connections and their states.

use std::collections::{HashMap, HashSet};

use crate::code::{End, Place, Transport};
use crate::compile::num::Num;
use crate::compile::part::Part;
use crate::lang::{Number, Span};

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A number.
    Number(Num),
    /// A text.
    Text(Vec<Part>),
    /// A pool or an address, and whether it is IPv4.
    Place(Place, bool),
    /// A message, with the address and port that stand in it.
    Reply(Option<(u8, End, Num)>),
    /// A number that is not whole.
    Fraction(Number),
    /// A connection.
    Connection(u8),
    /// Something that is wrong, which has been noted.
    Wrong,
}

/// A connection of the story.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) transport: Transport,
    pub(super) opener: End,
    pub(super) v4: bool,
    /// Timeouts that are not failures.
    pub(super) retry: u16,
    /// The last question of DNS.
    pub(super) question: Option<Question>,
    /// The last question was wrong, which has been noted.
    pub(super) wrong_question: bool,
}

/// The state of a connection, at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not declared so far.
    Never,
    /// Open in both directions.
    Open,
    /// Over UDP: declared, and the opener has not sent so far.
    Silent,
    /// The client has sent its last byte.
    ClientDone(Span),
    /// The server has sent its last byte.
    ServerDone(Span),
    /// Half open: an attack waits.
    Half,
    /// Closed.
    Closed(Span),
}

impl State {
    /// Whether two states are the same, wherever they came to be.
    pub(super) fn same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The state in words, and where it came to be.
    pub(super) const fn words(self) -> (&'static str, Option<Span>) {
        match self {
            Self::Never => ("not open", None),
            Self::Open | Self::Silent => ("open", None),
            Self::ClientDone(span) => ("closed by the client", Some(span)),
            Self::ServerDone(span) => ("closed by the server", Some(span)),
            Self::Half => ("half open", None),
            Self::Closed(span) => ("closed", Some(span)),
        }
    }
}

/// A question, which the reply repeats.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The number of the message.
    pub(super) id: Num,
    /// Name, type and class as in the message.
    pub(super) parts: Vec<Part>,
    /// The type.
    pub(super) kind: u16,
}

/// What a story declares.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// Places of the connections, by slot.
    pub(super) slots: Vec<Span>,
    /// The connection to whose port each ephemeral port belongs, by the place of its `let`.
    pub(super) ports: HashMap<Span, u8>,
    /// Later connections to a port that the story names, and the end that opens each.
    pub(super) fixed: Vec<(u8, End)>,
    /// Connections whose port an end chooses.
    pub(super) held: HashSet<u8>,
    /// Connections that go to the port from which an earlier one came.
    pub(super) lent: HashSet<u8>,
    /// Names of ephemeral ports in the blocks around the place that is looked at. The last one counts.
    pub(super) ephemeral: Vec<(String, Span)>,
}
