//! The first line of a message of HTTP or SIP.

use super::Verdict;
use super::ftp::digit;
use super::parse::{is_text, more_if};
use super::state::{fields, steps};

/// What the first line must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum First<'a> {
    /// `METHOD target VERSION`.
    Request(&'a [u8]),
    /// `VERSION status reason`. The reason may be missing, with the space in front of it.
    Response(u16),
}

steps! {
    /// Part of the line.
    enum Part { First, Target, Version, Status, Reason, }
}

fields! {
    /// The first line.
    struct Start {
        part: Part,
        /// Bytes of this part that were there.
        matched: u16,
        /// The version is HTTP/1.0.
        old: bool,
    }
}

const STATUS_DIGITS: u16 = 3;

impl Start {
    /// Takes a byte of the line. `version` is `HTTP/1.1`, which HTTP/1.0 fits too, or another one.
    pub(super) fn text(&mut self, first: First<'_>, version: &[u8], byte: u8) -> Verdict {
        let at = self.matched;
        self.matched = self.matched.saturating_add(1);
        match (self.part, first) {
            (Part::First, First::Request(method)) => self.word(method, at, byte, Part::Target),
            (Part::First, First::Response(_)) if usize::from(at) < version.len() => {
                self.version(version, at, byte)
            }
            (Part::First, First::Response(_)) => self.word(b"", 0, byte, Part::Status),
            (Part::Target, _) if byte == b' ' && at > 0 => self.word(b"", 0, byte, Part::Version),
            (Part::Target, _) => more_if(byte.is_ascii_graphic()),
            (Part::Version, _) => self.version(version, at, byte),
            (Part::Status, First::Response(status)) if at < STATUS_DIGITS => {
                more_if(byte == digit(status, at as u8))
            }
            (Part::Status, _) => self.word(b"", 0, byte, Part::Reason),
            (Part::Reason, _) => more_if(is_text(byte)),
        }
    }

    /// Whether the line may end here.
    pub(super) fn ends(&self, version: &[u8]) -> bool {
        match self.part {
            Part::First | Part::Target => false,
            Part::Version => usize::from(self.matched) == version.len(),
            Part::Status => self.matched == STATUS_DIGITS,
            Part::Reason => true,
        }
    }

    /// Takes a byte of a word, or the space behind it.
    fn word(&mut self, word: &[u8], at: u16, byte: u8, next: Part) -> Verdict {
        match word.get(usize::from(at)) {
            Some(&wanted) => more_if(byte == wanted),
            None => {
                (self.part, self.matched) = (next, 0);
                more_if(byte == b' ')
            }
        }
    }

    fn version(&mut self, version: &[u8], at: u16, byte: u8) -> Verdict {
        let at = usize::from(at);
        let old = byte == b'0' && version == b"HTTP/1.1" && at + 1 == version.len();
        self.old |= old;
        more_if(old || version.get(at) == Some(&byte))
    }
}
