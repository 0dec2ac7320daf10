//! Pieces of a format as bytes.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::code::{Bundle, End, Piece};

/// Most bytes of a piece that is no text: an IPv6 address has 39.
const ROOM: usize = 40;
/// Most digits of a number in decimal.
const DECIMAL: usize = 20;
/// Most letters, and most bytes, that a register has.
const LETTERS: u8 = 12;
const BYTES: u8 = 8;

/// Room for the bytes of a piece.
#[derive(Debug)]
pub(super) struct Room {
    bytes: [u8; ROOM],
    len: usize,
}

impl Room {
    /// Empty room.
    #[inline]
    pub(super) const fn new() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }

    /// The bytes that `piece` renders to. A piece that takes renders to what it compares: nothing, or `h1,h2,h3,h4,`.
    ///
    /// `None` if a register is missing, which the verifier rules out, or if an address is not IPv4 where FTP needs one.
    #[inline]
    pub(super) fn render<'a>(
        &'a mut self,
        bundle: &'a Bundle,
        piece: Piece,
        registers: &[u64],
        address: impl Fn(u8, End) -> IpAddr,
    ) -> Option<&'a [u8]> {
        let value = match piece.reads() {
            Some(register) => *registers.get(usize::from(register))?,
            None => 0,
        };
        match piece {
            Piece::Text(index) => return Some(bundle.template(index)),
            Piece::Decimal(_) => self.decimal(value),
            Piece::Hex { digits, .. } => {
                self.fill(digits.min(16), |back| b"0123456789abcdef"[(value >> (4 * back) & 15) as usize]);
            }
            Piece::Letters { count, .. } => {
                let count = count.min(LETTERS);
                self.fill(count, |back| letter(value >> (5 * (count - 1 - back))));
            }
            Piece::Bytes { count, .. } => self.fill(count.min(BYTES), |back| (value >> (8 * back)) as u8),
            Piece::Address { slot, end } => match address(slot, end) {
                IpAddr::V4(v4) => self.numbers(v4, b'.'),
                IpAddr::V6(v6) => self.v6(v6),
            },
            Piece::AddressBytes { slot, end } => match address(slot, end) {
                IpAddr::V4(v4) => self.copy(&v4.octets()),
                IpAddr::V6(v6) => self.copy(&v6.octets()),
            },
            Piece::HostPort { slot, end, .. } => {
                self.host(address(slot, end))?;
                self.number((value >> 8) as u8);
                self.push(b',');
                self.number(value as u8);
            }
            Piece::TakeHostPort { slot, end, .. } => self.host(address(slot, end))?,
            Piece::TakeDecimal(_) | Piece::TakeHex { .. } | Piece::TakeBytes { .. } => {}
        }
        Some(&self.bytes[..self.len])
    }

    /// Appends `h1,h2,h3,h4,`.
    fn host(&mut self, address: IpAddr) -> Option<()> {
        let IpAddr::V4(v4) = address else { return None };
        self.numbers(v4, b',');
        self.push(b',');
        Some(())
    }

    fn numbers(&mut self, address: Ipv4Addr, separator: u8) {
        for (i, number) in address.octets().into_iter().enumerate() {
            if i > 0 {
                self.push(separator);
            }
            self.number(number);
        }
    }

    fn v6(&mut self, address: Ipv6Addr) {
        let mut rest = &mut self.bytes[..];
        // It has at most 39 bytes, so there is room.
        let _ = write!(rest, "{address}");
        self.len = ROOM - rest.len();
    }

    #[inline]
    fn decimal(&mut self, mut value: u64) {
        let mut digits = [0; DECIMAL];
        let mut at = DECIMAL;
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.copy(&digits[at..]);
    }

    /// Appends a number of at most three digits.
    #[inline]
    fn number(&mut self, number: u8) {
        if number >= 100 {
            self.push(b'0' + number / 100);
        }
        if number >= 10 {
            self.push(b'0' + number / 10 % 10);
        }
        self.push(b'0' + number % 10);
    }

    /// Appends `count` bytes. `byte` makes each from its distance to the last one.
    #[inline]
    fn fill(&mut self, count: u8, byte: impl Fn(u8) -> u8) {
        (0..count).rev().for_each(|back| self.push(byte(back)));
    }

    /// Appends a byte. No piece has more than there is room for.
    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Appends bytes. No piece has more than there is room for.
    #[inline]
    fn copy(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(ROOM - self.len);
        self.bytes[self.len..self.len + count].copy_from_slice(&bytes[..count]);
        self.len += count;
    }
}

/// A letter from the low 5 bits.
#[inline]
fn letter(bits: u64) -> u8 {
    b'a' + (((bits & 31) * 26) >> 5) as u8
}
