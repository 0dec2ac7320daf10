//! Messages of TFTP (RFC 1350), with options (RFC 2347).

use super::Match;
use super::Verdict;
use super::parse::{Parse, more_if};
use super::state::{fields, steps};
use crate::code::MAX_HEAD;

/// The operation that a message must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opcode(pub(super) u8);

steps! {
    /// Part of a message.
    enum Part { Opcode, File, Mode, Block, Data, Code, Text, Option, Value, }
}

fields! {
    /// A message. Captures its block number (or 0), and the bytes of data.
    struct Tftp {
        part: Part,
        /// Bytes of this string or number that were there.
        at: u16,
        /// Modes that this one may still be, as bits.
        modes: u8,
        /// Options are there.
        options: bool,
        /// Bytes of all parts but data.
        taken: u16,
        block: u16,
        data: u64,
    }
}

const READ: u8 = 1;
const WRITE: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;
const ERROR: u8 = 5;
const OPTIONS: u8 = 6;
const MODES: [&[u8]; 2] = [b"octet", b"netascii"];

impl Parse<Opcode> for Tftp {
    fn feed(&mut self, opcode: &Opcode, bytes: &[u8]) -> Match {
        if self.part == Part::Data {
            self.data += bytes.len() as u64;
            return Match::more(bytes.len());
        }
        if u32::from(self.taken) >= MAX_HEAD {
            return Match::mismatch(0);
        }
        self.taken += 1;
        Match::byte(self.byte(opcode.0, bytes[0]))
    }

    /// Where a datagram may end, which nothing else tells.
    fn end(&mut self, opcode: &Opcode) -> bool {
        match self.part {
            Part::Data => true,
            Part::Option => self.at == 0 && (opcode.0 != OPTIONS || self.options),
            _ => false,
        }
    }

    fn captures(&self) -> [u64; 2] {
        [u64::from(self.block), self.data]
    }
}

impl Tftp {
    fn byte(&mut self, opcode: u8, byte: u8) -> Verdict {
        let at = self.at;
        self.at += 1;
        match self.part {
            Part::Opcode if at == 0 => more_if(byte == 0),
            Part::Opcode => more_if(byte == opcode && self.begin(opcode)),
            Part::Block => {
                self.block = self.block << 8 | u16::from(byte);
                match (at, opcode) {
                    (0, _) => Verdict::More,
                    (_, ACK) => Verdict::Done,
                    _ => self.go(Part::Data),
                }
            }
            Part::Code if at == 0 => Verdict::More,
            Part::Code => self.go(Part::Text),
            Part::Text if byte == 0 => Verdict::Done,
            Part::File | Part::Option if at == 0 && byte == 0 => Verdict::Mismatch,
            Part::File if byte == 0 => self.go(Part::Mode),
            Part::Option if byte == 0 => self.go(Part::Value),
            Part::Value if byte == 0 => {
                self.options = true;
                self.go(Part::Option)
            }
            Part::Mode => self.mode(usize::from(at), byte),
            Part::Text | Part::File | Part::Option | Part::Value | Part::Data => Verdict::More,
        }
    }

    fn begin(&mut self, opcode: u8) -> bool {
        self.modes = u8::MAX;
        self.go(match opcode {
            READ | WRITE => Part::File,
            DATA | ACK => Part::Block,
            ERROR => Part::Code,
            OPTIONS => Part::Option,
            _ => return false,
        });
        true
    }

    fn mode(&mut self, at: usize, byte: u8) -> Verdict {
        let fits = |mode: &[u8]| mode.get(at).map_or(byte == 0, |wanted| byte.eq_ignore_ascii_case(wanted));
        let bits = MODES.iter().enumerate().map(|(i, mode)| u8::from(at <= mode.len() && fits(mode)) << i);
        self.modes &= bits.fold(0, |all, bit| all | bit);
        if self.modes != 0 && byte == 0 { self.go(Part::Option) } else { more_if(self.modes != 0) }
    }

    fn go(&mut self, part: Part) -> Verdict {
        (self.part, self.at) = (part, 0);
        Verdict::More
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::*;

    fn read(opcode: u8, bytes: &[u8], last: bool) -> Option<[u64; 2]> {
        parse::<_, Tftp>(&Opcode(opcode), bytes, last).map(|(_, found)| found)
    }

    #[test]
    fn messages() {
        assert_eq!(read(READ, b"\0\x01boot.img\0octet\0", true), Some([0, 0]));
        assert_eq!(read(WRITE, b"\0\x02f\0NetASCII\0blksize\x001428\0tsize\x000\0", true), Some([0, 0]));
        assert_eq!(read(DATA, &[&[0, 3, 1, 2], &[7; 512][..]].concat(), true), Some([0x102, 512]));
        assert_eq!(read(DATA, &[0, 3, 0, 9], true), Some([9, 0]));
        assert_eq!(read(ACK, &[0, 4, 0xff, 0xfe], false), Some([0xfffe, 0]));
        assert_eq!(read(ERROR, b"\0\x05\0\x01File not found\0", false), Some([0, 0]));
        assert_eq!(read(OPTIONS, b"\0\x06blksize\x001428\0", true), Some([0, 0]));
    }

    #[test]
    fn messages_that_are_none() {
        for (opcode, bytes) in [
            (READ, &b"\0\x02f\0octet\0"[..]),
            (READ, b"\x01\x01f\0octet\0"),
            (READ, b"\0\x01\0octet\0"),
            (READ, b"\0\x01f\0oct\0"),
            (READ, b"\0\x01f\0octetx\0"),
            (READ, b"\0\x01f\0octet"),
            (READ, b"\0\x01f\0octet\0blksize\0"),
            (READ, b"\0\x01f\0\0"),
            (READ, b"\0\x01f\0octet\0\0x\0"),
            (DATA, b"\0\x03\0"),
            (ACK, b"\0\x04\0"),
            (OPTIONS, b"\0\x06"),
            (9, b"\0\x09"),
        ] {
            assert_eq!(read(opcode, bytes, true), None, "{bytes:?}");
        }
        assert_eq!(
            read(READ, &[&b"\0\x01"[..], &[b'f'; 9_000], b"\0octet\0"].concat(), true),
            None,
            "too long"
        );
    }
}
