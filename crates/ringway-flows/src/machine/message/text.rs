//! Texts without a protocol of their own: a line with a known beginning, one that begins with a number, and lines up to one with a dot.

use super::parse::{Char, Lines, Number, Parse, more_if};
use super::state::{fields, steps};
use super::{Match, Verdict};

fields! {
    /// A line that begins with the bytes of its rules.
    struct Line {
        lines: Lines,
        /// Bytes of the beginning that were there.
        matched: u32,
    }
}

impl Parse<&[u8]> for Line {
    #[inline]
    fn feed(&mut self, prefix: &&[u8], bytes: &[u8]) -> Match {
        let missing = prefix.get(self.matched as usize);
        Match::byte(match (self.lines.take(bytes[0]), missing) {
            (Char::Text(_) | Char::Cr, None) => Verdict::More,
            (Char::Text(byte), Some(&wanted)) => {
                self.matched += 1;
                more_if(byte == wanted)
            }
            (Char::End, None) => Verdict::Done,
            _ => Verdict::Mismatch,
        })
    }
}

fields! {
    /// A line that begins with a number in decimal. Captures it.
    struct NumberLine {
        lines: Lines,
        number: Number,
        rest: bool,
    }
}

impl Parse<()> for NumberLine {
    #[inline]
    fn feed(&mut self, _: &(), bytes: &[u8]) -> Match {
        Match::byte(match self.lines.take(bytes[0]) {
            Char::Text(byte) if !self.rest && byte.is_ascii_digit() => {
                more_if(self.number.decimal(byte, u64::MAX))
            }
            Char::Text(_) | Char::Cr => {
                self.rest = true;
                more_if(self.number.digits > 0)
            }
            Char::End => Verdict::Done,
            Char::Bad => Verdict::Mismatch,
        })
    }

    fn captures(&self) -> [u64; 2] {
        [self.number.value, 0]
    }
}

steps! {
    /// Where in a line.
    enum Place { Start, Dot, Text, }
}

fields! {
    /// Lines up to one with only a dot. Captures the bytes before that line, as they are on the wire.
    struct Dots {
        lines: Lines,
        place: Place,
        count: u64,
    }
}

/// Bytes of the last line: a dot, CR, LF.
const LAST_LINE: u64 = 3;

impl Parse<()> for Dots {
    #[inline]
    fn feed(&mut self, _: &(), bytes: &[u8]) -> Match {
        self.count += 1;
        Match::byte(match self.lines.take(bytes[0]) {
            Char::Text(byte) => {
                let dot = self.place == Place::Start && byte == b'.';
                self.place = if dot { Place::Dot } else { Place::Text };
                Verdict::More
            }
            Char::Cr => Verdict::More,
            Char::End => {
                self.lines.restart();
                if std::mem::take(&mut self.place) == Place::Dot { Verdict::Done } else { Verdict::More }
            }
            Char::Bad => Verdict::Mismatch,
        })
    }

    fn captures(&self) -> [u64; 2] {
        [self.count.saturating_sub(LAST_LINE), 0]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    #[test]
    fn lines_begin_as_they_must() {
        let line = |prefix: &[u8], text: &[u8]| parse::<_, Line>(&prefix, text, false).map(|(used, _)| used);
        assert_eq!(line(b"+OK", b"+OK POP3 ready\r\n+OK x"), Some(16));
        assert_eq!(line(b"", b"\r\n"), Some(2));
        for bad in [&b"-ERR\r\n"[..], b"+OK", b"+O\r\n", b"+OK\n", b"+OK x\ry\r\n"] {
            assert_eq!(line(b"+OK", bad), None);
        }
    }

    #[test]
    fn a_line_has_a_limit() {
        let line = |len| parse::<_, Line>(&&b"x"[..], &[vec![b'x'; len], b"\r\n".to_vec()].concat(), false);
        assert_eq!(line(8_190).map(|(used, _)| used), Some(8_192));
        assert_eq!(line(8_191), None);
    }

    #[test]
    fn numbers_begin_a_line() {
        let number =
            |text: &str| parse::<_, NumberLine>(&(), text.as_bytes(), false).map(|(_, found)| found[0]);
        assert_eq!(number("120 messages\r\n"), Some(120));
        assert_eq!((number("007\r\n"), number("18446744073709551615.\r\n")), (Some(7), Some(u64::MAX)));
        for bad in ["x1\r\n", "\r\n", "18446744073709551616\r\n", " 1\r\n", "1\n"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_dot_ends_a_mail() {
        let dots =
            |text: &str| parse::<_, Dots>(&(), text.as_bytes(), false).map(|(used, found)| (used, found[0]));
        assert_eq!(dots(".\r\nQUIT\r\n"), Some((3, 0)));
        assert_eq!(dots("Subject: x\r\n\r\n..stuffed\r\n. \r\n.\r\n"), Some((32, 29)));
        for bad in ["a.\r\n", "a\n.\n", "a\r\n.\n", "\r\r\n.\r\n"] {
            assert_eq!(dots(bad), None, "{bad}");
        }
        let long = format!("{}.\r\n", "0123456789\r\n".repeat(2_000));
        assert_eq!(dots(&long), Some((24_003, 24_000)));
    }
}
