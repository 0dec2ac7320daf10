//! Messages of HTTP/1.1 (RFC 9112), and of HTTP/1.0 without its persistent connections.
//!
//! What makes it doubtful where a message ends is refused: two lengths, a length beside chunks, codings other than `chunked`, folded
//! headers, a CR or LF alone.

use super::chunks::{Chunk, Chunks};
use super::head::{Head, HeadRules, Header};
use super::parse::{Char, Lines, Parse, more_if};
use super::start::{First, Start};
use super::state::{fields, steps};
use super::{Match, Verdict};
use crate::code::Method;

/// What a message must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct HttpRules {
    pub(super) first: First<'static>,
    /// It answers a HEAD.
    pub(super) head: bool,
}

impl HttpRules {
    /// A request.
    pub(super) fn request(method: Method) -> Self {
        let name: &[u8] = match method {
            Method::Get => b"GET",
            Method::Head => b"HEAD",
            Method::Post => b"POST",
            Method::Put => b"PUT",
        };
        Self { first: First::Request(name), head: false }
    }

    /// A response.
    pub(super) fn response(status: u16, head: bool) -> Self {
        Self { first: First::Response(status), head }
    }
}

const VERSION: &[u8] = b"HTTP/1.1";
const HEADERS: HeadRules = HeadRules {
    names: &[
        (b"content-length", Header::Length),
        (b"transfer-encoding", Header::Encoding),
        (b"host", Header::Host),
    ],
    folds: false,
};

steps! {
    /// Part of a message.
    enum Part { Start, Head, Length, Chunks, Rest, }
}

fields! {
    /// A message. Captures the bytes of its body.
    struct Http {
        part: Part,
        lines: Lines,
        start: Start,
        head: Head,
        body: u64,
        chunk: Chunk,
    }
}

impl Parse<HttpRules> for Http {
    #[inline]
    fn feed(&mut self, rules: &HttpRules, bytes: &[u8]) -> Match {
        if self.part == Part::Head {
            let used = self.head.skip(&mut self.lines, bytes);
            if used > 0 {
                return Match::more(used);
            }
        }
        match self.part {
            Part::Start | Part::Head => Match::byte(self.line(rules, bytes[0])),
            Part::Length => {
                let left = self.head.length.value - self.body;
                let used = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                self.body += used as u64;
                Match { used, verdict: if used as u64 == left { Verdict::Done } else { Verdict::More } }
            }
            Part::Chunks => {
                let Self { chunk, lines, head, body, .. } = self;
                Chunks { chunk, lines, head, body }.feed(bytes)
            }
            Part::Rest => {
                self.body += bytes.len() as u64;
                Match::more(bytes.len())
            }
        }
    }

    fn end(&mut self, _: &HttpRules) -> bool {
        self.part == Part::Rest
    }

    fn captures(&self) -> [u64; 2] {
        [self.body, 0]
    }
}

impl Http {
    fn line(&mut self, rules: &HttpRules, byte: u8) -> Verdict {
        let char = self.lines.take(byte);
        if self.part == Part::Head {
            let verdict = self.head.take(&HEADERS, char);
            return if verdict == Verdict::Done { self.body(rules) } else { verdict };
        }
        match char {
            Char::Text(byte) => self.start.text(rules.first, VERSION, byte),
            Char::Cr => Verdict::More,
            Char::End => {
                self.part = Part::Head;
                more_if(self.start.ends(VERSION))
            }
            Char::Bad => Verdict::Mismatch,
        }
    }

    /// What follows the headers (RFC 9112, section 6.3).
    fn body(&mut self, rules: &HttpRules) -> Verdict {
        let (length, chunked) = (self.head.has(Header::Length), self.head.chunked);
        let old = self.start.old;
        if chunked && (length || old) {
            return Verdict::Mismatch;
        }
        let none = match rules.first {
            First::Request(_) if !old && !self.head.has(Header::Host) => return Verdict::Mismatch,
            First::Request(_) => !length && !chunked,
            First::Response(status) => rules.head || status < 200 || matches!(status, 204 | 304),
        };
        self.part = match (length, chunked) {
            _ if none => return Verdict::Done,
            (true, _) if self.head.length.value == 0 => return Verdict::Done,
            (true, _) => Part::Length,
            (false, true) => Part::Chunks,
            (false, false) => Part::Rest,
        };
        self.lines.restart();
        Verdict::More
    }
}
