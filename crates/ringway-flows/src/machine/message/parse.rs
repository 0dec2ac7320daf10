//! The loop that hands the bytes of a segment to a parser, and what parsers of text share.

use super::state::{Field, fields, load, store};
use super::{Match, MatchState, Scratch, Verdict};
use crate::code::MAX_HEAD;

/// A parser with rules `R`: what the story says about the message.
pub(super) trait Parse<R>: Field {
    /// Takes some of the bytes, of which there is at least one. With `More` it takes at least one of them.
    fn feed(&mut self, rules: &R, bytes: &[u8]) -> Match;

    /// Whether the message is complete, given that no byte can follow.
    fn end(&mut self, _rules: &R) -> bool {
        false
    }

    /// The captures of a message that is complete.
    fn captures(&self) -> [u64; 2] {
        [0; 2]
    }
}

/// Bytes of a segment, and where the parser of its message stands.
#[derive(Debug)]
pub(super) struct Feed<'a> {
    pub(super) state: &'a mut MatchState,
    pub(super) scratch: &'a mut Scratch,
    pub(super) bytes: &'a [u8],
    /// No byte can follow.
    pub(super) last: bool,
}

impl Feed<'_> {
    /// Hands the bytes to the parser until the message ends. Returns its captures, too.
    #[inline]
    pub(super) fn run<P: Parse<R>, R>(self, rules: &R) -> (Match, [u64; 2]) {
        let mut parser: P = load(*self.state, self.scratch);
        let mut used = 0;
        while used < self.bytes.len() {
            let step = parser.feed(rules, &self.bytes[used..]);
            used += step.used;
            if step.verdict != Verdict::More {
                return (Match { used, ..step }, parser.captures());
            }
        }
        if self.last && parser.end(rules) {
            return (Match::done(used), parser.captures());
        }
        store(parser, self.state, self.scratch);
        (Match::more(used), [0; 2])
    }
}

/// A byte of a text, as [`Lines`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Char {
    /// A byte of a line.
    Text(u8),
    /// The CR of a line's end.
    Cr,
    /// The LF of a line's end.
    End,
    /// A CR or LF alone, or one byte too many.
    Bad,
}

/// Bytes that [`Lines::skip`] looks at together.
const CHUNK: usize = 16;

/// Whether the byte may stand in a reason or in the value of a header.
#[inline]
pub(super) fn is_text(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || byte == b'\t'
}

fields! {
    /// Splits a text into lines that end in CR LF, and bounds it to [`MAX_HEAD`] bytes.
    struct Lines {
        cr: bool,
        /// Bytes since the start of the text, or since [`restart`](Self::restart).
        taken: u16,
    }
}

impl Lines {
    /// Takes the next byte.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Char {
        if u32::from(self.taken) >= MAX_HEAD {
            return Char::Bad;
        }
        self.taken += 1;
        match (std::mem::replace(&mut self.cr, byte == b'\r'), byte) {
            (true, b'\n') => Char::End,
            (true, _) | (false, b'\n') => Char::Bad,
            (false, b'\r') => Char::Cr,
            (false, byte) => Char::Text(byte),
        }
    }

    /// Takes the first bytes while they are of a class that has no CR and no LF. Returns how many it took.
    #[inline]
    pub(super) fn skip(&mut self, bytes: &[u8], class: impl Fn(u8) -> bool) -> usize {
        let room = (MAX_HEAD as usize).saturating_sub(self.taken.into());
        let bytes = &bytes[..bytes.len().min(if self.cr { 0 } else { room })];
        let fits = |chunk: &&[u8; CHUNK]| chunk.iter().fold(true, |all, &byte| all & class(byte));
        let (chunks, _) = bytes.as_chunks();
        let whole = chunks.iter().take_while(fits).count() * CHUNK;
        let used = whole + bytes[whole..].iter().take_while(|&&byte| class(byte)).count();
        self.taken += used as u16;
        used
    }

    /// Counts from 0 again.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.taken = 0;
    }
}

fields! {
    /// A number that comes digit by digit.
    struct Number {
        digits: u8,
        value: u64,
    }
}

impl Number {
    /// Takes a decimal digit. False if `byte` is none, or if the number is more than `most`.
    #[inline]
    pub(super) fn decimal(&mut self, byte: u8, most: u64) -> bool {
        byte.is_ascii_digit() && self.push(10, u64::from(byte - b'0'), most)
    }

    /// Takes a hexadecimal digit of either case. False if `byte` is none, or if the number is more than `most`.
    #[inline]
    pub(super) fn hex(&mut self, byte: u8, most: u64) -> bool {
        (byte as char).to_digit(16).is_some_and(|digit| self.push(16, u64::from(digit), most))
    }

    /// Takes a byte as a digit to base 256. False if the number is too large.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) -> bool {
        self.push(256, u64::from(byte), u64::MAX)
    }

    #[inline]
    fn push(&mut self, base: u64, digit: u64, most: u64) -> bool {
        let value = self.value.checked_mul(base).and_then(|value| value.checked_add(digit));
        let fits = value.filter(|&value| value <= most);
        self.value = fits.unwrap_or(self.value);
        self.digits = self.digits.saturating_add(1);
        fits.is_some()
    }

    /// Its value. Begins the next number.
    #[inline]
    pub(super) fn finish(&mut self) -> u64 {
        std::mem::take(self).value
    }
}

/// `More` or, if a rule is broken, a mismatch.
#[inline]
pub(super) fn more_if(holds: bool) -> Verdict {
    if holds { Verdict::More } else { Verdict::Mismatch }
}

/// `Done` or, if a rule is broken, a mismatch.
#[inline]
pub(super) fn done_if(holds: bool) -> Verdict {
    if holds { Verdict::Done } else { Verdict::Mismatch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_cr_lf() {
        let split = |text: &[u8]| {
            let mut lines = Lines::default();
            text.iter().map(|&byte| lines.take(byte)).collect::<Vec<_>>()
        };
        assert_eq!(split(b"a\r\n\r\n"), [Char::Text(b'a'), Char::Cr, Char::End, Char::Cr, Char::End]);
        assert_eq!(split(b"\n"), [Char::Bad]);
        assert_eq!(split(b"\rb"), [Char::Cr, Char::Bad]);
        assert_eq!(split(b"\r\r"), [Char::Cr, Char::Bad]);
        assert_eq!(split(&[b'x'; MAX_HEAD as usize + 1]).last(), Some(&Char::Bad));
    }

    #[test]
    fn numbers_are_bounded() {
        let read = |text: &[u8], most| {
            let mut number = Number::default();
            text.iter().all(|&byte| number.decimal(byte, most)).then(|| number.finish())
        };
        assert_eq!(read(b"18446744073709551615", u64::MAX), Some(u64::MAX));
        assert_eq!(read(b"18446744073709551616", u64::MAX), None);
        assert_eq!((read(b"255", 255), read(b"256", 255), read(b"1x", 255)), (Some(255), None, None));
        let mut number = Number::default();
        assert!(b"00fFa".iter().all(|&byte| number.hex(byte, u64::MAX)) && !number.hex(b'g', u64::MAX));
        assert_eq!((number.digits, number.finish(), number.digits), (5, 0xffa, 0));
    }
}
