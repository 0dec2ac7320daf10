//! The record of a binding: a descriptor, and the rings that it is bound to.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringway_sys::mmap::Mmap;

use super::limits::RINGS_MAX;

/// Bytes of a record.
pub(super) const SIZE: usize = 64;

const IN_USE: usize = 0;
const PORT: usize = 4;
const HOST_PORT: usize = 8;
const MODE: usize = 12;
const FLAGS: usize = 16;
const EXCLUSIVE: usize = 24;
const RINGID: usize = 28;
const RINGS: usize = 32;

/// The record of a binding. It changes under the region's control lock only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BindingRecord<'a> {
    mem: &'a Mmap,
    at: usize,
    /// Its number, and that of its interface descriptor.
    pub(crate) index: u32,
}

/// A set of rings of a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RingSet([u64; RINGS_MAX as usize / 64]);

impl RingSet {
    pub(crate) fn add(&mut self, ring: u32) {
        if let Some(word) = self.0.get_mut(ring as usize / 64) {
            *word |= 1 << (ring % 64);
        }
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

impl FromIterator<u32> for RingSet {
    fn from_iter<T: IntoIterator<Item = u32>>(rings: T) -> Self {
        let mut set = Self::default();
        rings.into_iter().for_each(|ring| set.add(ring));
        set
    }
}

/// What a new binding's record says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BindingFacts {
    /// The port of the rings, and that of the host's rings.
    pub(crate) ports: [Option<u32>; 2],
    pub(crate) mode: u32,
    pub(crate) ringid: u16,
    pub(crate) flags: u64,
    pub(crate) exclusive: bool,
    pub(crate) rings: RingSet,
}

impl<'a> BindingRecord<'a> {
    pub(super) fn new(mem: &'a Mmap, at: usize, index: u32) -> Self {
        Self { mem, at, index }
    }

    fn word(&self, at: usize) -> &'a AtomicU32 {
        self.mem.u32(self.at + at)
    }

    fn ring_word(&self, k: usize) -> &'a AtomicU64 {
        self.mem.u64(self.at + RINGS + 8 * k)
    }

    pub(crate) fn in_use(&self) -> bool {
        self.word(IN_USE).load(Acquire) != 0
    }

    /// Puts the binding into the book.
    pub(crate) fn begin(&self, facts: &BindingFacts) {
        let port = |p: Option<u32>| p.map_or(0, |p| p + 1);
        self.word(PORT).store(port(facts.ports[0]), Relaxed);
        self.word(HOST_PORT).store(port(facts.ports[1]), Relaxed);
        self.word(MODE).store(facts.mode, Relaxed);
        self.mem.u64(self.at + FLAGS).store(facts.flags, Relaxed);
        self.word(EXCLUSIVE).store(facts.exclusive.into(), Relaxed);
        self.word(RINGID).store(facts.ringid.into(), Relaxed);
        for (k, word) in facts.rings.0.iter().enumerate() {
            self.ring_word(k).store(*word, Relaxed);
        }
        self.word(IN_USE).store(1, Release);
    }

    /// Takes it out.
    pub(crate) fn end(&self) {
        self.word(IN_USE).store(0, Release);
    }

    pub(crate) fn facts(&self) -> BindingFacts {
        let port = |at: usize| self.word(at).load(Relaxed).checked_sub(1);
        let mut rings = RingSet::default();
        for (k, word) in rings.0.iter_mut().enumerate() {
            *word = self.ring_word(k).load(Relaxed);
        }
        BindingFacts {
            ports: [port(PORT), port(HOST_PORT)],
            mode: self.word(MODE).load(Relaxed),
            ringid: self.word(RINGID).load(Relaxed) as u16,
            flags: self.mem.u64(self.at + FLAGS).load(Relaxed),
            exclusive: self.word(EXCLUSIVE).load(Relaxed) != 0,
            rings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn sets_of_rings_are_sets(a in prop::collection::btree_set(0u32..300, 0..20), b in prop::collection::btree_set(0u32..300, 0..20)) {
            let inside = |set: &BTreeSet<u32>| -> BTreeSet<u32> { set.iter().copied().filter(|r| *r < RINGS_MAX).collect() };
            let (sa, sb): (RingSet, RingSet) = (a.iter().copied().collect(), b.iter().copied().collect());
            let has = |ring: &u32| sa.meets(&RingSet::from_iter([*ring]));
            prop_assert_eq!((0..300).filter(has).collect::<BTreeSet<_>>(), inside(&a));
            prop_assert_eq!(sa.meets(&sb), inside(&a).intersection(&inside(&b)).next().is_some());
        }
    }
}
