//! All interleavings of a few threads at a ring.
//!
//! The payload of each block is a cell of loom's, which refuses an access that is not ordered behind the last one. So a
//! block has one owner, and its tokens come with it.
#![allow(unsafe_code, reason = "loom's cells are reached by pointers")]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use super::ring::Ring;
use super::word::{Atom, Held, atom};

atom!(AtomicU64);

/// A ring of two slots with blocks 0 and 1, and the blocks of those who use it.
struct Model {
    ring: Ring<AtomicU64>,
    payload: Vec<UnsafeCell<u32>>,
}

impl Model {
    fn of(slots: u32, owners: u32) -> Arc<Self> {
        let payload = (0..slots + owners).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Self { ring: Ring::of(0..slots), payload })
    }

    /// Writes `token` into the block, and trades it for an empty one.
    fn put(&self, block: &mut u32, token: u32) -> bool {
        // SAFETY: loom checks that this thread is the block's only owner.
        self.payload[*block as usize].with_mut(|p| unsafe { *p = token });
        let empty = self.ring.put(Held { block: *block, tokens: 1 });
        *block = empty.unwrap_or(*block);
        empty.is_some()
    }

    fn take(&self, block: &mut u32) -> Option<u32> {
        let held = self.ring.take(*block)?;
        assert_eq!(held.tokens, 1);
        *block = held.block;
        // SAFETY: as in `put`.
        Some(self.payload[*block as usize].with(|p| unsafe { *p }))
    }
}

fn check(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn two_producers_and_a_consumer() {
    check(|| {
        let m = Model::of(2, 3);
        let producers = [1, 2].map(|token| {
            let m = m.clone();
            thread::spawn(move || assert!(m.put(&mut (token + 1), token), "there is room for two"))
        });
        let mut block = 4;
        let mut seen = Vec::new();
        seen.extend(m.take(&mut block));
        seen.extend(m.take(&mut block));
        producers.into_iter().for_each(|p| p.join().unwrap());
        while let Some(token) = m.take(&mut block) {
            seen.push(token);
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2], "none lost, none twice");
    });
}

#[test]
fn a_producer_and_two_consumers() {
    check(|| {
        let m = Model::of(2, 3);
        let consumers = [2, 3].map(|block| {
            let m = m.clone();
            thread::spawn(move || {
                let mut block = block;
                m.take(&mut block)
            })
        });
        let mut block = 4;
        let mut put = vec![];
        for token in 1..=3 {
            if m.put(&mut block, token) {
                put.push(token);
            }
        }
        assert!(put.starts_with(&[1, 2]), "there is room for two");
        let mut seen: Vec<u32> = consumers.into_iter().filter_map(|c| c.join().unwrap()).collect();
        let mut rest = Vec::new();
        while let Some(token) = m.take(&mut block) {
            rest.push(token);
        }
        assert!(rest.is_sorted(), "in order");
        seen.extend(rest);
        seen.sort_unstable();
        assert_eq!(seen, put, "none lost, none twice");
    });
}

/// Around the ring of one slot: each token waits until the one before is gone.
#[test]
fn one_slot_in_three_rounds() {
    check(|| {
        let m = Model::of(1, 2);
        let producer = {
            let m = m.clone();
            thread::spawn(move || {
                let mut block = 1;
                (1..=3).filter(|&token| m.put(&mut block, token)).collect::<Vec<u32>>()
            })
        };
        let mut block = 2;
        let mut seen: Vec<u32> = (0..2).filter_map(|_| m.take(&mut block)).collect();
        let put = producer.join().unwrap();
        seen.extend(std::iter::from_fn(|| m.take(&mut block)));
        assert_eq!(seen, put, "none lost, none twice, and in order");
    });
}

/// A cache of a pool is two blocks, and takes and gives through one ring: two threads exchange the only two blocks.
#[test]
fn two_caches_at_a_pool() {
    check(|| {
        let m = Model::of(2, 2);
        let threads = [2, 3].map(|block| {
            let m = m.clone();
            thread::spawn(move || {
                let mut block = block;
                let token = 10 + block;
                assert!(m.put(&mut block, token), "a pool has a slot for each full block");
                let got = m.take(&mut block);
                // The other thread may have taken both, but never what this one still has.
                got.is_none_or(|token| m.put(&mut block, token))
            })
        });
        assert!(threads.into_iter().all(|t| t.join().unwrap()));
        let mut block = 2;
        let mut left: Vec<u32> = std::iter::from_fn(|| {
            m.ring.take(block).map(|held| {
                block = held.block;
                // SAFETY: as in `put`; all other threads are gone.
                m.payload[block as usize].with(|p| unsafe { *p })
            })
        })
        .collect();
        left.sort_unstable();
        assert_eq!(left.len(), 2, "{left:?}");
    });
}
