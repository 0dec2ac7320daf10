//! A body of HTTP in chunks (RFC 9112, section 7.1).

use super::head::{Head, HeadRules};
use super::parse::{Char, Lines, is_text, more_if};
use super::state::steps;
use super::{Match, Verdict};

steps! {
    /// Part of a chunk, or the trailers behind the last one.
    enum Chunk { Size, Space, Extension, Data, Behind, Trailers, }
}

/// A body in chunks, up to the empty line behind the last one.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    pub(super) chunk: &'a mut Chunk,
    pub(super) lines: &'a mut Lines,
    /// Its `length` holds the size of the chunk, or how much of it is missing.
    pub(super) head: &'a mut Head,
    /// Bytes of all chunks so far.
    pub(super) body: &'a mut u64,
}

/// No header of the trailers matters.
const TRAILERS: HeadRules = HeadRules { names: &[], folds: false };

impl Chunks<'_> {
    /// Takes some of the bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Match {
        if *self.chunk == Chunk::Data {
            return Match::more(self.data(bytes));
        }
        let char = self.lines.take(bytes[0]);
        Match::byte(match (*self.chunk, char) {
            (_, Char::Bad) => Verdict::Mismatch,
            (Chunk::Trailers, char) => self.head.take(&TRAILERS, char),
            (_, Char::Cr) => Verdict::More,
            (Chunk::Size, Char::Text(byte)) => more_if(self.size(byte)),
            (Chunk::Space, Char::Text(byte)) => more_if(self.space(byte)),
            (Chunk::Extension, Char::Text(byte)) => more_if(is_text(byte)),
            (Chunk::Size | Chunk::Space | Chunk::Extension, Char::End) => more_if(self.begin()),
            (Chunk::Behind, Char::End) => {
                *self.chunk = Chunk::Size;
                self.lines.restart();
                Verdict::More
            }
            (Chunk::Behind | Chunk::Data, _) => Verdict::Mismatch,
        })
    }

    fn data(&mut self, bytes: &[u8]) -> usize {
        let left = &mut self.head.length.value;
        let used = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= used as u64;
        *self.body = self.body.saturating_add(used as u64);
        if *left == 0 {
            self.head.length.finish();
            *self.chunk = Chunk::Behind;
        }
        used
    }

    fn size(&mut self, byte: u8) -> bool {
        let digits = self.head.length.digits > 0;
        digits && self.space(byte) || self.head.length.hex(byte, u64::MAX)
    }

    /// Spaces in front of an extension.
    fn space(&mut self, byte: u8) -> bool {
        *self.chunk = match byte {
            b';' => Chunk::Extension,
            b' ' | b'\t' => Chunk::Space,
            _ => return false,
        };
        true
    }

    /// The end of a line with a size.
    fn begin(&mut self) -> bool {
        let size = self.head.length;
        *self.chunk = if size.value > 0 { Chunk::Data } else { Chunk::Trailers };
        self.lines.restart();
        size.digits > 0
    }
}
