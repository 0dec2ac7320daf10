//! Formats: rendering them, and the expectation of what one renders to, with values that are taken.

use std::net::IpAddr;

use super::parse::Number;
use super::piece::Room;
use super::state::{fields, load, store};
use super::{Match, MatchState, Scratch, Verdict};
use crate::code::{Bundle, End, Format, Piece};

/// Writes the bytes of a format to `out`. Returns how many there are.
///
/// `None` if `out` is shorter, if a register is missing, or if an address is not IPv4 where FTP needs one.
pub(super) fn render(
    bundle: &Bundle,
    format: &Format,
    registers: &[u64],
    address: impl Fn(u8, End) -> IpAddr,
    out: &mut [u8],
) -> Option<usize> {
    let mut len = 0;
    for &piece in &format.pieces {
        let mut room = Room::new();
        let bytes = room.render(bundle, piece, registers, &address)?;
        out.get_mut(len..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        len += bytes.len();
    }
    Some(len)
}

fields! {
    /// Where in a format. The fields behind `at` belong to a piece that takes.
    struct Cursor {
        piece: u32,
        /// Bytes that were there of what this piece compares.
        at: u32,
        number: Number,
        /// The first number of a port was there, with the comma behind it.
        second: bool,
        high: u8,
    }
}

/// Compares bytes with what a format renders to, and writes the values that it takes into their registers.
pub(super) fn expect(
    bundle: &Bundle,
    format: &Format,
    registers: &mut [u64],
    address: impl Fn(u8, End) -> IpAddr,
    state: &mut MatchState,
    scratch: &mut Scratch,
    bytes: &[u8],
) -> Match {
    let mut cursor: Cursor = load(*state, scratch);
    let mut used = 0;
    while let Some(&piece) = format.pieces.get(cursor.piece as usize) {
        let mut room = Room::new();
        let Some(wanted) = room.render(bundle, piece, registers, &address) else {
            return Match::mismatch(used);
        };
        if cursor.at == 0 && piece.takes().is_none() && bytes[used..].starts_with(wanted) {
            used += wanted.len();
            cursor.piece += 1;
            continue;
        }
        let mut step = cursor.compare(wanted, &bytes[used..]);
        used += step.used;
        if step.verdict == Verdict::Done && piece.takes().is_some() {
            step = cursor.take(piece, registers, &bytes[used..]);
            used += step.used;
        }
        match step.verdict {
            Verdict::Mismatch => return Match::mismatch(used),
            Verdict::More => {
                store(cursor, state, scratch);
                return Match::more(used);
            }
            Verdict::Done => cursor = Cursor { piece: cursor.piece + 1, ..Cursor::default() },
        }
    }
    Match::done(used)
}

impl Cursor {
    /// Compares bytes with the rest of a piece.
    #[inline]
    fn compare(&mut self, wanted: &[u8], bytes: &[u8]) -> Match {
        let Some(rest) = wanted.get(self.at as usize..) else { return Match::mismatch(0) };
        let len = rest.len().min(bytes.len());
        if rest[..len] != bytes[..len] {
            return Match::mismatch(rest.iter().zip(bytes).take_while(|(a, b)| a == b).count());
        }
        self.at += len as u32;
        if len == rest.len() { Match::done(len) } else { Match::more(len) }
    }

    /// Takes bytes of a value.
    fn take(&mut self, piece: Piece, registers: &mut [u64], bytes: &[u8]) -> Match {
        let register = piece.takes().and_then(|register| registers.get_mut(usize::from(register)));
        let Some(register) = register else { return Match::mismatch(0) };
        for (used, &byte) in bytes.iter().enumerate() {
            let step = self.byte(piece, byte);
            match step.verdict {
                Verdict::More => {}
                Verdict::Mismatch => return Match::mismatch(used),
                Verdict::Done => {
                    *register = self.number.value | u64::from(self.high) << 8;
                    return Match::done(used + step.used);
                }
            }
        }
        Match::more(bytes.len())
    }

    /// Takes a byte of a value. A number in decimal is done at the byte behind it, which it does not take.
    #[inline]
    fn byte(&mut self, piece: Piece, byte: u8) -> Match {
        let number = &mut self.number;
        let (holds, count) = match piece {
            Piece::TakeHex { digits, .. } => {
                (!byte.is_ascii_uppercase() && number.hex(byte, u64::MAX), digits)
            }
            Piece::TakeBytes { count, .. } => (number.byte(byte), count),
            Piece::TakeDecimal(_) => return self.decimal(byte, u64::MAX),
            Piece::TakeHostPort { .. } => {
                let step = self.decimal(byte, u64::from(u8::MAX));
                if self.second || step.verdict != Verdict::Done {
                    return step;
                }
                (self.second, self.high) = (true, self.number.finish() as u8);
                (byte == b',', u8::MAX)
            }
            _ => (false, 0),
        };
        if !holds {
            return Match::mismatch(0);
        }
        if self.number.digits >= count { Match::done(1) } else { Match::more(1) }
    }

    /// Takes a decimal digit that is not behind a leading zero.
    fn decimal(&mut self, byte: u8, most: u64) -> Match {
        let Number { digits, value } = self.number;
        if !byte.is_ascii_digit() {
            return if digits > 0 { Match::done(0) } else { Match::mismatch(0) };
        }
        let zero = digits > 0 && value == 0;
        if !zero && self.number.decimal(byte, most) { Match::more(1) } else { Match::mismatch(0) }
    }
}
