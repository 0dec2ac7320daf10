use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The byte of the stream at an offset.
fn byte(at: u32) -> u8 {
    (at ^ at >> 8).wrapping_mul(31) as u8
}

fn stream(at: u32, len: u32) -> Vec<u8> {
    (at..at + len).map(byte).collect()
}

fn pool(bytes: usize) -> Blocks {
    Blocks::new(bytes).unwrap()
}

proptest! {
    /// Copies of the same numbers differ here: the first one counts.
    #[test]
    fn first_bytes_win(start: u32, copies in prop::collection::vec((0..3000_u32, 1..2500_u32), 1..12)) {
        let (mut incoming, mut blocks) = (Incoming::default(), pool(1 << 20));
        let mut model = BTreeMap::new();
        for (tag, (at, len)) in copies.into_iter().enumerate() {
            prop_assert_eq!(incoming.store(start.wrapping_add(at), &vec![tag as u8; len as usize], &mut blocks), 0);
            (at..at + len).for_each(|at| { model.entry(at).or_insert(tag as u8); });
        }
        // As if the missing bytes had come, and gone to the program at once.
        while let Some((&at, _)) = model.first_key_value() {
            incoming.taken(start.wrapping_add(at), &mut blocks);
            let (len, fin) = incoming.follows(start.wrapping_add(at));
            prop_assert_eq!(len as usize, (at..).take_while(|at| model.contains_key(at)).count());
            prop_assert!(!fin);
            let front = incoming.front(start.wrapping_add(at + len), &blocks).to_vec();
            prop_assert!(!front.is_empty());
            for (at, tag) in (at..).zip(&front) {
                prop_assert_eq!(model.remove(&at), Some(*tag));
            }
        }
        incoming.taken(start.wrapping_add(9000), &mut blocks);
        prop_assert!(incoming.is_empty());
        prop_assert_eq!(blocks.used_bytes(), 0);
    }

    /// A receiver whose program lags, and whose segments come in any order: nothing of the stream is lost that was acknowledged.
    #[test]
    fn acknowledged_bytes_stay(
        start: u32,
        window in 1..80_000_u32,
        steps in prop::collection::vec((0..4_u8, 0..40_000_u32, 1..3000_u32, 0..5000_u32), 1..200),
    ) {
        let settings = Settings { window, ..Settings::default() };
        let (mut incoming, mut blocks) = (Incoming::default(), pool(1 << 17));
        let (mut expected, mut taken) = (0, 0);
        for (kind, ahead, len, eats) in steps {
            let room = incoming.room(start.wrapping_add(expected), &settings);
            prop_assert!(room <= window);
            let ahead = if kind == 0 { ahead } else { 0 };
            let data = stream(expected + ahead, len.min(room.saturating_sub(ahead)));
            incoming.store(start.wrapping_add(expected + ahead), &data, &mut blocks);
            if ahead == 0 {
                let (follows, _) = incoming.follows(start.wrapping_add(expected));
                prop_assert!(follows as usize >= data.len(), "{} of {} bytes are there", follows, data.len());
                expected += follows;
            }
            for _ in 0..eats / 1000 {
                let front = incoming.front(start.wrapping_add(expected), &blocks);
                let eaten = front.len().min(eats as usize);
                prop_assert_eq!(&front[..eaten], &stream(taken, eaten as u32)[..]);
                taken += eaten as u32;
                incoming.taken(start.wrapping_add(taken), &mut blocks);
            }
            prop_assert!(blocks.used_bytes() <= PARTS * BLOCK);
        }
        prop_assert!(expected - taken <= window);
        incoming.clear(&mut blocks);
        prop_assert_eq!(blocks.used_bytes(), 0);
    }
}

#[test]
fn fin_waits_for_the_bytes_before_it() {
    let (mut incoming, mut blocks) = (Incoming::default(), pool(1 << 16));
    incoming.note_fin(5);
    assert!(!incoming.is_empty());
    assert_eq!(incoming.follows(u32::MAX), (0, false));
    incoming.store(2, b"cde", &mut blocks);
    assert_eq!(incoming.follows(u32::MAX), (0, false));
    incoming.store(u32::MAX, b"xab", &mut blocks);
    assert_eq!(incoming.follows(u32::MAX), (6, true));
    assert_eq!((incoming.front(5, &blocks), incoming.front(0, &blocks)), (&b"xab"[..], &b"x"[..]));
    incoming.taken(2, &mut blocks);
    assert_eq!(incoming.front(5, &blocks), b"cde");
}

#[test]
fn bytes_far_ahead_make_way() {
    let (mut incoming, mut blocks) = (Incoming::default(), pool(1 << 17));
    for k in 1..=PARTS as u32 {
        assert_eq!(incoming.store(k * 100, b"early", &mut blocks), 0);
    }
    assert_eq!(incoming.store(9000, b"far", &mut blocks), 3, "farther than all");
    assert_eq!(incoming.store(50, b"near", &mut blocks), 5, "the last one makes way");
    assert_eq!(incoming.follows(3900), (5, false));
    assert_eq!(incoming.follows(4000), (0, false));
    // Without a block for it, too.
    let (mut incoming, mut blocks) = (Incoming::default(), pool(0));
    assert_eq!(incoming.store(0, b"none", &mut blocks), 4);
    assert!(incoming.is_empty());
}

#[test]
fn small_segments_share_blocks() {
    let (mut incoming, mut blocks) = (Incoming::default(), pool(1 << 16));
    let (settings, window) = (Settings::default(), Settings::default().window);
    for at in 0..window {
        assert_eq!(incoming.room(at, &settings), window - at);
        assert_eq!(incoming.store(at, &[byte(at)], &mut blocks), 0);
    }
    assert_eq!(incoming.room(window, &settings), 0);
    assert_eq!(incoming.front(window, &blocks), stream(0, 2048));
    // The program takes a block byte by byte.
    for at in 1..=2048 {
        assert_eq!(incoming.room(window, &settings), 0);
        incoming.taken(at, &mut blocks);
    }
    assert_eq!(incoming.room(window, &settings), 2048);
}

#[test]
fn size() {
    assert!(size_of::<Incoming>() <= 496, "{}", size_of::<Incoming>());
}
