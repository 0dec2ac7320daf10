//! Where text goes: results to standard output, everything else to standard error.

use std::io::{self, Write};

use serde_json::Value;

/// Standard output; or standard error for people and standard output for one JSON object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    pub(crate) json: bool,
}

impl Console {
    /// A line for people.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        if self.json {
            note(text);
            return Ok(());
        }
        writeln!(io::stdout(), "{text}")
    }

    /// The result: `text` for people, or the object.
    pub(crate) fn result(self, text: &str, object: &Value) -> io::Result<()> {
        if self.json { writeln!(io::stdout(), "{object}") } else { self.line(text) }
    }
}

/// A line on standard error. Where that is closed, nobody wants to know.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
