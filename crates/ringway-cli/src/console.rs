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

/// What serves a port, for a status line: the first words, or with `verbose` all that there is to say.
pub(crate) fn served(backend: &str, verbose: bool) -> &str {
    let end = backend.find([',', ';', '(']).filter(|_| !verbose);
    backend[..end.unwrap_or(backend.len())].trim_end()
}

/// A line on standard error. Where that is closed, nobody wants to know.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::served;

    #[test]
    fn the_first_words_tell_what_serves_a_port() {
        for (backend, first) in [
            ("ebpf: native XDP in, live frames out, driver veth, 1 rx and 1 tx ring", "ebpf: native XDP in"),
            ("vale: port 2 of a switch, 1 ring of 1024 slots each way", "vale: port 2 of a switch"),
            ("pipe: zero copy (not ebpf, because it is a pipe)", "pipe: zero copy"),
            ("null: endless", "null: endless"),
            ("", ""),
        ] {
            assert_eq!(served(backend, false), first);
            assert_eq!(served(backend, true), backend);
        }
    }
}
