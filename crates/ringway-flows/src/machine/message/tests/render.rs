//! What one end renders, the other one expects and takes.

use std::net::IpAddr;

use proptest::prelude::*;

use super::world::{Case, World, address};
use crate::code::{End, Instr, MAX_FORMAT, Op, Piece};
use crate::machine::message::{Match, MatchState, Scratch, Verdict};

/// A piece, and what it takes on the other end if it is taken there.
#[derive(Clone, Debug)]
struct Part {
    kind: u8,
    value: u64,
    width: u8,
    taken: bool,
    text: Vec<u8>,
}

fn part() -> impl Strategy<Value = Part> {
    let value = prop_oneof![any::<u64>(), 0..300u64, Just(u64::MAX), Just(0)];
    let text = prop::collection::vec(any::<u8>(), 0..20);
    (0..8u8, value, 1..=16u8, any::<bool>(), text).prop_map(|(kind, value, width, taken, text)| Part {
        kind,
        value,
        width,
        taken,
        text,
    })
}

const SLOT: u8 = 0;

/// The piece that is sent, the one that is expected, the value that is taken, and the bytes, made the slow way.
fn pieces(part: &Part, reg: u8, text: u32) -> (Piece, Piece, u64, Vec<u8>) {
    let (value, taken, end) =
        (part.value, part.taken, if part.width.is_multiple_of(2) { End::Client } else { End::Server });
    let either = |sent, expected| if taken { expected } else { sent };
    let commas = |end| address(SLOT, end).to_string().replace('.', ",");
    match part.kind {
        0 => (
            Piece::Decimal(reg),
            either(Piece::Decimal(reg), Piece::TakeDecimal(reg)),
            value,
            value.to_string().into_bytes(),
        ),
        1 => {
            let (digits, sent) = (part.width, Piece::Hex { reg, digits: part.width });
            let low = if digits == 16 { value } else { value & ((1 << (4 * digits)) - 1) };
            let bytes = format!("{low:0width$x}", width = usize::from(digits)).into_bytes();
            (sent, either(sent, Piece::TakeHex { reg, digits }), low, bytes)
        }
        2 => {
            let count = part.width.min(12);
            let letter = |i| char::from(b'a' + (((value >> (5 * i)) & 31) * 26 / 32) as u8);
            let piece = Piece::Letters { reg, count };
            (piece, piece, value, (0..count).map(letter).collect::<String>().into_bytes())
        }
        3 => {
            let count = part.width.min(8);
            let bytes = value.to_be_bytes()[8 - usize::from(count)..].to_vec();
            let low = bytes.iter().fold(0, |low, &byte| low << 8 | u64::from(byte));
            (
                Piece::Bytes { reg, count },
                either(Piece::Bytes { reg, count }, Piece::TakeBytes { reg, count }),
                low,
                bytes,
            )
        }
        4 => {
            let piece = Piece::Address { slot: part.width % 2, end };
            (piece, piece, value, address(part.width % 2, end).to_string().into_bytes())
        }
        5 => {
            let piece = Piece::AddressBytes { slot: part.width % 2, end };
            let bytes = match address(part.width % 2, end) {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            (piece, piece, value, bytes)
        }
        6 => {
            let (slot, port) = (SLOT, value & 0xffff);
            let bytes = format!("{},{},{}", commas(end), port / 256, port % 256).into_bytes();
            let sent = Piece::HostPort { slot, end, reg };
            (sent, either(sent, Piece::TakeHostPort { slot, end, reg }), port, bytes)
        }
        _ => (Piece::Text(text), Piece::Text(text), value, part.text.clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn both_ends_agree(parts in prop::collection::vec(part(), 0..8), cut: prop::sample::Index) {
        let mut world = World::default();
        let comma = world.template(b",");
        let (mut sent, mut expected, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut own, mut other, mut after) = ([0; 8], [0; 8], [0; 8]);
        for (i, part) in parts.iter().enumerate() {
            let text = world.template(&part.text);
            let (piece, counterpart, value, rendered) = pieces(part, i as u8, text);
            sent.extend([piece, Piece::Text(comma)]);
            expected.extend([counterpart, Piece::Text(comma)]);
            bytes.extend([&rendered[..], b","].concat());
            own[i] = part.value;
            let takes = counterpart.takes().is_some();
            (other[i], after[i]) = if takes { (!value, value) } else { (part.value, part.value) };
        }
        let longest: u32 = sent.iter().map(|piece| piece.longest(|at| world.bundle.template(at).len() as u32)).sum();
        let (sent, expected) = (world.format(&sent), world.format(&expected));
        let mut out = vec![0; MAX_FORMAT as usize];
        let server = world.matcher(End::Server);
        prop_assert_eq!(server.render(sent, &own, &mut out), Some(bytes.len()));
        prop_assert_eq!(&out[..bytes.len()], &bytes[..]);
        prop_assert!(bytes.len() <= longest as usize);
        prop_assert_eq!(server.render(sent, &own, &mut out[..bytes.len()]), Some(bytes.len()));
        if let Some(shorter) = bytes.len().checked_sub(1) {
            prop_assert_eq!(server.render(sent, &own, &mut out[..shorter]), None);
        }

        let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
        let instr = Instr::new(Op::ExpectV, 0, 0, expected);
        let (mut state, mut scratch) = (MatchState::default(), Scratch::default());
        let client = world.matcher(End::Client);
        let step = client.expect(instr, &mut state, &mut scratch, &mut other, first, false);
        prop_assert_eq!(step.used, first.len());
        if step.verdict == Verdict::More {
            let step = client.expect(instr, &mut state, &mut scratch, &mut other, second, true);
            prop_assert_eq!((step.used, step.verdict), (second.len(), Verdict::Done));
        }
        prop_assert_eq!(other, after);
    }
}

/// What an expectation of these pieces makes of bytes: how many it uses, and whether it is done.
fn expect(pieces: &[Piece], bytes: &[u8]) -> (usize, bool, [u64; 4]) {
    let mut world = World::default();
    world.template(b";");
    let format = world.format(pieces);
    let (step, registers) = Case::new(Instr::new(Op::ExpectV, 0, 0, format)).run(&world, &[bytes], true);
    (step.used, step.verdict == Verdict::Done, registers)
}

#[test]
fn numbers_that_are_not_taken() {
    let decimal = |text: &[u8]| expect(&[Piece::TakeDecimal(0), Piece::Text(0)], text);
    assert_eq!(decimal(b"18446744073709551615;"), (21, true, [u64::MAX, 22, 33, 44]));
    assert_eq!(decimal(b"18446744073709551616;").0, 19);
    assert_eq!((decimal(b"0;").1, decimal(b"00;").0, decimal(b"01;").0), (true, 1, 1));
    assert_eq!((decimal(b";").0, decimal(b"-1;").0, decimal(b"1,").0, decimal(b"1").1), (0, 0, 1, false));
    let hex = |text: &[u8]| expect(&[Piece::TakeHex { reg: 0, digits: 2 }], text);
    assert_eq!((hex(b"0f"), hex(b"0F").0, hex(b"0g").0), ((2, true, [15, 22, 33, 44]), 1, 1));
    let port = |text: &[u8]| {
        let (used, done, registers) =
            expect(&[Piece::TakeHostPort { slot: 0, end: End::Client, reg: 0 }, Piece::Text(0)], text);
        (used, done.then_some(registers[0]))
    };
    assert_eq!(port(b"198,18,0,1,255,255;"), (19, Some(65_535)));
    assert_eq!(port(b"198,18,0,2,255,255;"), (9, None));
    assert_eq!((port(b"198,18,0,1,256,0;"), port(b"198,18,0,1,1;")), ((13, None), (12, None)));
    assert_eq!((port(b"198,18,0,1,,1;"), port(b"198,18,0,1,1,;")), ((11, None), (13, None)));
}

#[test]
fn all_ports_are_written() {
    let mut world = World::default();
    let format = world.format(&[Piece::HostPort { slot: 0, end: End::Client, reg: 0 }]);
    let matcher = world.matcher(End::Client);
    for port in 0..=u16::MAX {
        let mut out = [0; 23];
        let len = matcher.render(format, &[port.into()], &mut out).unwrap();
        assert_eq!(str::from_utf8(&out[..len]), Ok(&*format!("198,18,0,1,{},{}", port >> 8, port & 255)));
    }
}

#[test]
fn a_piece_goes_on_in_its_middle() {
    let mut world = World::default();
    let (first, second) = (world.template(b"abab"), world.template(b"cdx"));
    let format = world.format(&[Piece::Text(first), Piece::Text(second)]);
    let case = Case::new(Instr::new(Op::ExpectV, 0, 0, format));
    let run = |rest| case.run(&world, &[b"ab", rest], false).0;
    assert_eq!(run(b"abcdx"), Match { used: 7, verdict: Verdict::Done });
    assert_eq!(run(b"ababx"), Match { used: 4, verdict: Verdict::Mismatch });
}

#[test]
fn ftp_has_no_ports_of_ipv6() {
    let mut world = World::default();
    let format = world.format(&[Piece::HostPort { slot: 1, end: End::Client, reg: 0 }]);
    assert_eq!(world.matcher(End::Client).render(format, &[0; 4], &mut [0; 100]), None);
    assert_eq!(expect(&[Piece::HostPort { slot: 1, end: End::Client, reg: 0 }], b"2001").0, 0);
}

#[test]
fn no_register_is_wider_than_it_is() {
    let (reg, many) = (0, u8::MAX);
    let pieces = [
        Piece::Letters { reg, count: many },
        Piece::Bytes { reg, count: many },
        Piece::Hex { reg, digits: many },
    ];
    let mut world = World::default();
    let format = world.format(&pieces);
    assert_eq!(world.matcher(End::Client).render(format, &[0; 4], &mut [0; 100]), Some(12 + 8 + 16));
}

#[test]
fn registers_and_tables_that_do_not_exist() {
    let mut world = World::default();
    let format = world.format(&[Piece::Decimal(9)]);
    assert_eq!(world.matcher(End::Client).render(format, &[0; 4], &mut [0; 100]), None);
    assert_eq!(world.matcher(End::Client).render(7, &[0; 4], &mut [0; 100]), None);
    let number = world.parser(crate::code::Parser::Number).c;
    for instr in [
        Instr::new(Op::ExpectV, 0, 0, format),
        Instr::new(Op::ExpectV, 0, 0, 7),
        Instr::new(Op::ExpectP, 0, 0, 7),
        Instr::new(Op::ExpectP, 0, 4, number),
        Instr::new(Op::ExpectN, 0, 4, 0),
        Instr::new(Op::ExpectR, 0, 0, 4),
        Instr::new(Op::ExpectW, 0, 0, 9),
        Instr::new(Op::SendT, 0, 0, 0),
    ] {
        assert_eq!(
            Case::new(instr).run(&world, &[b"1\r\n"], false).0.verdict,
            Verdict::Mismatch,
            "{instr:?}"
        );
    }
}
