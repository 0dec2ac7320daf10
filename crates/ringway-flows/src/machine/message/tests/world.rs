//! A bundle, a table of random bytes and addresses for tests of the matcher.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::code::{Bundle, End, Format, Instr, Op, Parser, Piece, Template};
use crate::machine::message::{Match, MatchState, Matcher, RandomBytes, Scratch, Verdict};

/// A table of random bytes without a table.
pub(super) struct Table;

impl Table {
    pub(super) fn byte(at: u64) -> u8 {
        ((at % 65_536).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }
}

impl RandomBytes for Table {
    fn matches(&self, start: u64, bytes: &[u8]) -> bool {
        (start..).zip(bytes).all(|(at, &byte)| byte == Self::byte(at))
    }
}

/// Slot 0 has IPv4 addresses, slot 1 has IPv6 ones.
pub(super) fn address(slot: u8, end: End) -> IpAddr {
    match (slot, end) {
        (0, End::Client) => Ipv4Addr::new(198, 18, 0, 1).into(),
        (0, End::Server) => Ipv4Addr::new(198, 19, 100, 7).into(),
        (_, End::Client) => Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1).into(),
        (_, End::Server) => Ipv6Addr::new(0x2001, 2, 0, 1, 0xabcd, 0, 0, 0x9000).into(),
    }
}

/// A bundle whose tables grow by what a test adds.
#[derive(Default)]
pub(super) struct World {
    pub(super) bundle: Bundle,
}

impl World {
    pub(super) fn template(&mut self, bytes: &[u8]) -> u32 {
        let offset = self.bundle.data.len() as u32;
        self.bundle.data.extend(bytes);
        self.bundle.templates.push(Template { offset, len: bytes.len() as u32 });
        self.bundle.templates.len() as u32 - 1
    }

    pub(super) fn format(&mut self, pieces: &[Piece]) -> u32 {
        self.bundle.formats.push(Format { pieces: pieces.to_vec() });
        self.bundle.formats.len() as u32 - 1
    }

    pub(super) fn parser(&mut self, parser: Parser) -> Instr {
        self.bundle.parsers.push(parser);
        Instr::new(Op::ExpectP, 0, u16::from(CAPTURES), self.bundle.parsers.len() as u32 - 1)
    }

    /// The matcher of an end.
    pub(super) fn matcher(&self, end: End) -> Matcher<'_, Table, impl Fn(u8, End) -> IpAddr> {
        Matcher { bundle: &self.bundle, random: &Table, end, address }
    }
}

/// The first register for captures.
pub(super) const CAPTURES: u8 = 2;

/// An expectation, and the registers that it meets.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) instr: Instr,
    pub(super) registers: [u64; 4],
    pub(super) end: End,
}

impl Case {
    pub(super) fn new(instr: Instr) -> Self {
        Self { instr, registers: [11, 22, 33, 44], end: End::Client }
    }

    /// What it makes of segments, of which the last one may be known to be the last. Returns the sum, and the registers.
    pub(super) fn run(&self, world: &World, segments: &[&[u8]], last: bool) -> (Match, [u64; 4]) {
        let matcher = world.matcher(self.end);
        let (mut state, mut scratch) = (MatchState::default(), Scratch::default());
        let mut registers = self.registers;
        let mut sum = Match { used: 0, verdict: Verdict::More };
        for (i, segment) in segments.iter().enumerate() {
            let last = last && i + 1 == segments.len();
            let step = matcher.expect(self.instr, &mut state, &mut scratch, &mut registers, segment, last);
            assert!(step.used <= segment.len());
            sum = Match { used: sum.used + step.used, ..step };
            if step.verdict != Verdict::More {
                break;
            }
            assert_eq!(step.used, segment.len(), "more, but not all bytes are used");
            assert!(!last, "more, but nothing can follow");
        }
        (sum, registers)
    }
}
