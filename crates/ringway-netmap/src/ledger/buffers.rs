//! Which buffers of a region are taken: a bit for each. The bits change under the region's control lock only.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ringway_abi::layout::FIRST_BUF;

use super::{Ledger, at, ring};

impl Ledger {
    fn bits(&self, k: u32) -> &AtomicU64 {
        let begin = at::RINGS + self.layout.rings as usize * ring::SIZE;
        self.mem.u64(begin + k as usize * 8)
    }

    fn is_taken(&self, buf: u32) -> bool {
        self.bits(buf / 64).load(Relaxed) >> (buf % 64) & 1 != 0
    }

    /// Takes `count` buffers, or as many as there are. A process that is killed before it puts them somewhere loses them to the
    /// region.
    pub(crate) fn take_buffers(&self, count: u32) -> Vec<u32> {
        let mut taken = Vec::new();
        let words = self.layout.bufs.div_ceil(64);
        let mut k = 0;
        while k < words && (taken.len() as u32) < count {
            let word = self.bits(k).load(Relaxed);
            let free = (0..64).filter(|bit| word >> bit & 1 == 0).map(|bit| k * 64 + bit);
            let free = free.filter(|buf| (FIRST_BUF..self.layout.bufs).contains(buf));
            let before = taken.len();
            taken.extend(free.take((count - before as u32) as usize));
            let bits = taken[before..].iter().fold(0, |bits, buf| bits | 1 << (buf % 64));
            self.bits(k).store(word | bits, Relaxed);
            k += 1;
        }
        taken
    }

    /// Takes `count` buffers or none.
    pub(crate) fn take_all_buffers(&self, count: u32) -> Option<Vec<u32>> {
        let taken = self.take_buffers(count);
        if taken.len() as u32 == count {
            return Some(taken);
        }
        for buf in taken {
            self.give_buffer(buf);
        }
        None
    }

    /// Gives a buffer back; false for a number that is no buffer's, or whose buffer is free already.
    pub(crate) fn give_buffer(&self, buf: u32) -> bool {
        if !(FIRST_BUF..self.layout.bufs).contains(&buf) || !self.is_taken(buf) {
            return false;
        }
        let word = self.bits(buf / 64);
        word.store(word.load(Relaxed) & !(1 << (buf % 64)), Relaxed);
        true
    }

    /// Marks a buffer that a switch gave to a ring.
    pub(crate) fn mark_buffer(&self, buf: u32) {
        if buf < self.layout.bufs {
            let word = self.bits(buf / 64);
            word.store(word.load(Relaxed) | 1 << (buf % 64), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Facts, RegionKind};
    use super::*;
    use proptest::prelude::*;
    use ringway_abi::RegionSpec;
    use std::collections::BTreeSet;

    fn ledger(buffers: u32) -> Ledger {
        let file = ringway_sys::fd::scratch(c"test").unwrap();
        let spec = RegionSpec { rings: 4, buffers, ..RegionSpec::default() };
        let facts = Facts { kind: RegionKind::Virtual, id: 7, key: "x".into(), spec, map: 0 };
        Ledger::make(file, &facts).unwrap()
    }

    #[test]
    fn a_ledger_is_found_as_it_was_made() {
        let made = ledger(300);
        let found = Ledger::open(made.file().try_clone().unwrap()).unwrap();
        assert_eq!((found.kind, found.id, found.key.as_str()), (RegionKind::Virtual, 7, "x"));
        assert_eq!((found.layout(), found.spec()), (made.layout(), made.spec()));
        let wrong = ringway_sys::fd::scratch(c"test").unwrap();
        assert!(Ledger::open(wrong.try_clone().unwrap()).is_err());
        wrong.set_len(1 << 20).unwrap();
        assert!(Ledger::open(wrong).is_err());
    }

    proptest! {
        /// A set of free numbers says the same.
        #[test]
        fn buffers_are_taken_once(buffers in 3u32..200, ops in prop::collection::vec((0u32..80, 0u32..220), 1..30)) {
            let ledger = ledger(buffers);
            let mut free: BTreeSet<u32> = (FIRST_BUF..buffers).collect();
            for (count, give) in ops {
                let taken = ledger.take_buffers(count);
                prop_assert_eq!(taken.len(), free.len().min(count as usize));
                prop_assert!(taken.iter().all(|buf| free.remove(buf)));
                let owned = (FIRST_BUF..buffers).contains(&give) && !free.contains(&give);
                prop_assert_eq!(ledger.give_buffer(give), owned);
                if owned { free.insert(give); }
            }
            let all = free.len() as u32;
            prop_assert!(ledger.take_all_buffers(all + 1).is_none());
            prop_assert_eq!(ledger.take_all_buffers(all).map(|t| t.len() as u32), Some(all));
        }
    }
}
