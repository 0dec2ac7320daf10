//! Contents against a loop over their bytes.

use proptest::prelude::*;

use super::world::{Case, Table, World};
use crate::code::{Instr, Op};
use crate::machine::message::{Match, Verdict};

/// What a message of `message` makes of bytes, byte by byte.
fn slow(message: &[u8], bytes: &[u8], last: bool) -> Match {
    let used = message.iter().zip(bytes).take_while(|(a, b)| a == b).count();
    let verdict = match () {
        () if used == message.len() => Verdict::Done,
        () if used == bytes.len() && !last => Verdict::More,
        () => Verdict::Mismatch,
    };
    Match { used, verdict }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn contents(op in 0..4usize, template in prop::collection::vec(0..4u8, 1..9), len in 0..40u64, start: u64, wrong in 0..80usize,
        arrived in 0..60usize, cut: prop::sample::Index, last: bool)
    {
        let mut world = World::default();
        let index = world.template(&template);
        let count = len as usize;
        let (instr, message): (_, Vec<u8>) = match op {
            0 => (Instr::new(Op::ExpectT, 0, 0, index), template),
            1 => (Instr::new(Op::ExpectW, 0, 0, index), template.into_iter().cycle().take(count).collect()),
            2 => (Instr::new(Op::ExpectR, 0, 0, 1), (0..len).map(|at| Table::byte(start.wrapping_add(at))).collect()),
            _ => (Instr::new(Op::ExpectN, 0, 0, 0), vec![0; count]),
        };
        let mut bytes = message.clone();
        bytes.resize(arrived, 1);
        let wrong = (op < 3).then_some(wrong);
        if let Some(byte) = wrong.and_then(|at| bytes.get_mut(at)) {
            *byte ^= 0x80;
        }
        let expected = if op < 3 { slow(&message, &bytes, last) } else { slow(&vec![1; count], &vec![1; arrived], last) };
        let case = Case { registers: [len, start, 0, 0], ..Case::new(instr) };
        prop_assert_eq!(case.run(&world, &[&bytes], last).0, expected);
        let (first, second) = bytes.split_at(cut.index(arrived + 1));
        prop_assert_eq!(case.run(&world, &[first, second], last).0, expected);
    }
}

#[test]
fn an_empty_template_repeats_nothing() {
    let mut world = World::default();
    let empty = world.template(b"");
    let run = |len| {
        let case = Case { registers: [len, 0, 0, 0], ..Case::new(Instr::new(Op::ExpectW, 0, 0, empty)) };
        case.run(&world, &[b"a"], false).0
    };
    assert_eq!(run(0), Match { used: 0, verdict: Verdict::Done });
    assert_eq!(run(1), Match { used: 0, verdict: Verdict::Mismatch });
}
