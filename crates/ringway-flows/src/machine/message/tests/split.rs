//! However a message is split into segments, the result is the same.

use proptest::prelude::*;

use super::corpus::corpus;
use super::world::{Case, World};
use crate::machine::message::Verdict;

/// The bytes cut at places, which are taken modulo their length.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let starts = std::iter::once(0).chain(places.iter().copied());
    starts.zip(places.iter().copied().chain([bytes.len()])).map(|(from, to)| &bytes[from..to]).collect()
}

/// All splits in two, and the one into bytes, of bytes that may be no message.
fn same_however_split(world: &World, case: &Case, bytes: &[u8], last: bool, places: &[usize]) {
    let whole = case.run(world, &[bytes], last);
    let one_by_one: Vec<&[u8]> = bytes.chunks(1).chain([&bytes[bytes.len()..]]).collect();
    for segments in [one_by_one, cut(bytes, places)] {
        assert_eq!(case.run(world, &segments, last), whole, "{case:?} {last} {segments:?}");
    }
}

#[test]
fn every_message_is_taken_to_its_end() {
    let (world, list) = corpus();
    for (case, bytes, last) in &list {
        let (whole, registers) = case.run(&world, &[bytes], *last);
        assert_eq!((whole.used, whole.verdict), (bytes.len(), Verdict::Done), "{case:?}");
        let long = [&bytes[..], b"1 rest"].concat();
        if !last {
            assert_eq!(case.run(&world, &[&long], false), (whole, registers), "{case:?}");
        }
        for at in 0..bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(case.run(&world, &[first, second], *last), (whole, registers), "{case:?} at {at}");
            assert_eq!(case.run(&world, &[first], false).0.verdict, Verdict::More, "{case:?} of {at}");
        }
    }
}

#[test]
fn captures() {
    let (world, list) = corpus();
    let captured = |(case, bytes, last): &(Case, Vec<u8>, bool)| case.run(&world, &[bytes], *last).1;
    let found: Vec<_> = list.iter().map(captured).collect();
    let none = [11, 22, 33, 44];
    let port = |port| [11, 22, port, 44];
    let expected = [
        none,
        none,
        none,
        none,
        [0x00c0_ffee, u64::from_be_bytes(*b"ABCDEFGH"), 10 << 8 | 20, 4711],
        none,
        port(120),
        port(25),
        none,
        port(51_210),
        port(6446),
        port(51_210),
        port(6275),
        port(12),
        port(16),
        port(9),
        port(49_170),
        port(8000),
        port(0x1234),
        port(2),
        [11, 22, 0, 0],
        [11, 22, 9, 9],
        [11, 22, 9, 0],
        [11, 22, 0, 0],
        port(0x0707_0707_0707_0707),
    ];
    assert_eq!(found, expected);
}

/// A change to the bytes of a message.
#[derive(Clone, Debug)]
enum Change {
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Cut(usize),
    Twice(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let byte =
        || prop_oneof![any::<u8>(), prop::sample::select(&b"\r\n\0 \t:;,.-|()0123456789abcdefmx\xc0"[..])];
    prop_oneof![
        (any::<usize>(), byte()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (any::<usize>(), byte()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        any::<usize>().prop_map(Change::Remove),
        any::<usize>().prop_map(Change::Cut),
        (any::<usize>(), 1..20usize).prop_map(|(at, len)| Change::Twice(at, len)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let len = bytes.len().max(1);
    let place = |at: usize| at % len;
    match *change {
        _ if bytes.is_empty() => {}
        Change::Set(at, byte) => bytes[place(at)] = byte,
        Change::Insert(at, byte) => bytes.insert(place(at), byte),
        Change::Remove(at) => _ = bytes.remove(place(at)),
        Change::Cut(at) => bytes.truncate(place(at)),
        Change::Twice(at, count) => {
            let from = place(at);
            let part = bytes[from..(from + count).min(bytes.len())].to_vec();
            bytes.splice(from..from, part);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn mutated_messages(which: prop::sample::Index, changes in prop::collection::vec(change(), 0..4), last: bool,
        places in prop::collection::vec(any::<usize>(), 0..6))
    {
        let (world, list) = corpus();
        let (case, bytes, _) = which.get(&list);
        let mut bytes = bytes.clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        same_however_split(&world, case, &bytes, last, &places);
    }

    #[test]
    fn any_bytes(which: prop::sample::Index, bytes in prop::collection::vec(any::<u8>(), 0..200), last: bool,
        places in prop::collection::vec(any::<usize>(), 0..6))
    {
        let (world, list) = corpus();
        same_however_split(&world, &which.get(&list).0, &bytes, last, &places);
    }
}
