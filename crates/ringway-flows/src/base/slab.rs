//! Records of one size by small numbers.

use std::collections::TryReserveError;

use ringway_sys::cache::fetch;
use ringway_sys::huge_pages::ask_for_huge_pages;

/// A record that lends the slab a word while it is free.
pub trait Record: Default {
    /// The word. Its value matters only to the slab, and only while the record is free.
    fn link(&self) -> u32;

    /// Writes the word.
    fn set_link(&mut self, link: u32);
}

/// The end of the list of free records.
const END: u32 = u32::MAX;

/// A store of records, found by id in one step. Ids that were given back are used again, the last one first, as it is in
/// the cache.
///
/// Address space for all records is reserved at the start, so records never move. The kernel gives memory when a record is
/// first used, in huge pages where it has some. A record keeps what it held: the caller clears it, and has a generation in it if old ids may come up.
///
/// ```
/// use ringway_flows::base::slab::{Record, Slab};
///
/// #[derive(Default)]
/// struct Flow {
///     bytes: u32,
/// }
///
/// impl Record for Flow {
///     fn link(&self) -> u32 {
///         self.bytes
///     }
///
///     fn set_link(&mut self, link: u32) {
///         self.bytes = link;
///     }
/// }
///
/// let mut flows: Slab<Flow> = Slab::new(2)?;
/// let first = flows.take().unwrap();
/// flows[first] = Flow { bytes: 7 };
/// assert!(flows.take().is_some());
/// assert_eq!(flows.take(), None);
/// flows.give(first);
/// assert_eq!((flows.take(), flows.used(), flows.limit()), (Some(first), 2, 2));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Debug)]
pub struct Slab<T> {
    records: Vec<T>,
    free: u32,
    used: u32,
    limit: u32,
}

impl<T: Record> Slab<T> {
    /// An empty store for at most `limit` records.
    ///
    /// # Errors
    /// When the address space for them can't be had.
    pub fn new(limit: u32) -> Result<Self, TryReserveError> {
        let mut records = Vec::new();
        records.try_reserve_exact(limit as usize)?;
        ask_for_huge_pages(records.spare_capacity_mut());
        Ok(Self { records, free: END, used: 0, limit })
    }

    /// A free record, or `None` when all are used.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let id = if self.free != END {
            let id = self.free;
            self.free = self.records[id as usize].link();
            // The next taker finds it in the cache. Records that were given back long ago are not there.
            self.fetch(self.free);
            id
        } else if self.records.len() < self.limit as usize {
            self.records.push(T::default());
            self.records.len() as u32 - 1
        } else {
            return None;
        };
        self.used += 1;
        Some(id)
    }

    /// Gives a record back. The caller has it from [`take`](Self::take), and gives it back once.
    #[inline]
    pub fn give(&mut self, id: u32) {
        self.records[id as usize].set_link(self.free);
        self.free = id;
        self.used -= 1;
    }
}

impl<T> Slab<T> {
    /// Records in use.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Most records at a time.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The record with an id, or `None` when no record ever had it. It may be free: look at its generation.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        self.records.get(id as usize)
    }
}

impl<T> Slab<T> {
    /// Asks the processor to fetch a record, if there is one with this number.
    #[inline(always)]
    pub fn fetch(&self, id: u32) {
        if let Some(record) = self.get(id) {
            fetch(record);
        }
    }

    /// A record to be changed, if there is one with this number.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.records.get_mut(id as usize)
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: u32) -> &T {
        &self.records[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.records[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Flow {
        link: u32,
        value: u64,
    }

    impl Record for Flow {
        fn link(&self) -> u32 {
            self.link
        }

        fn set_link(&mut self, link: u32) {
            self.link = link;
        }
    }

    proptest! {
        #[test]
        fn equals_a_map(steps in proptest::collection::vec((any::<bool>(), any::<u32>()), 0..300), limit in 0u32..40) {
            let mut slab: Slab<Flow> = Slab::new(limit).unwrap();
            let mut model: HashMap<u32, u64> = HashMap::new();
            for (at, (take, pick)) in steps.into_iter().enumerate() {
                if take {
                    let taken = slab.take();
                    prop_assert_eq!(taken.is_some(), model.len() < limit as usize);
                    if let Some(id) = taken {
                        slab[id] = Flow { link: pick, value: at as u64 };
                        prop_assert_eq!(model.insert(id, at as u64), None, "a used record");
                    }
                } else if let Some(&id) = model.keys().nth(pick as usize % model.len().max(1)) {
                    slab.give(id);
                    model.remove(&id);
                }
                prop_assert_eq!(slab.used() as usize, model.len());
                for (&id, &value) in &model {
                    prop_assert_eq!(slab.get(id).map(|flow| flow.value), Some(value));
                }
            }
        }
    }

    #[test]
    fn records_never_move() {
        let mut slab: Slab<Flow> = Slab::new(10_000).unwrap();
        let first = slab.take().unwrap();
        let at = std::ptr::from_ref(&slab[first]);
        while slab.take().is_some() {}
        assert_eq!(std::ptr::from_ref(&slab[first]), at);
        assert!(slab.get(10_000).is_none());
    }
}
