//! Why the verifier refuses a bundle.

use std::fmt;

use crate::code::End;

/// Why a bundle is refused: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    place: Place,
    what: String,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// In a table, at an index.
    Table(&'static str, usize),
    /// In the program of a flow's end, at an instruction.
    Program { flow: String, end: End, at: usize, text: String },
}

impl Refusal {
    /// Something is wrong with an item of a table.
    pub(crate) fn of_table(table: &'static str, index: usize, what: impl Into<String>) -> Self {
        Self { place: Place::Table(table, index), what: what.into() }
    }

    /// Something is wrong with an instruction, which reads `text` in a listing.
    pub(crate) fn of_program(flow: &str, end: End, at: usize, text: String, what: String) -> Self {
        Self { place: Place::Program { flow: flow.to_owned(), end, at, text }, what }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Table(table, index) => write!(f, "{table} {index}: {}", self.what),
            Place::Program { flow, end, at, text } => {
                let end = if *end == End::Client { "client" } else { "server" };
                write!(f, "flow `{flow}`, program of the {end}, instruction {at} ({text}): {}", self.what)
            }
        }
    }
}

impl std::error::Error for Refusal {}
