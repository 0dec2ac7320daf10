//! Which record has a key: a table of record numbers, 5 bytes a slot.
//!
//! A line of 64 bytes has 12 slots and a count. A slot holds the record's id, and a tag of 8 bits from the hash. A record
//! goes into the first line with a free slot, from the line of its hash on. The count of each full line that it passes
//! grows by one, and shrinks when the record leaves. So a search ends at the first line whose count is 0, nothing ever
//! moves within a table, and there are no tombstones.
//!
//! The last few records wait beside the lines, while the processor fetches the lines that they go into.
//!
//! A search compares all tags of a line at once, and asks the caller only about slots with the right one. It asks in vain
//! once in 20 searches.

mod lines;
mod pending;

use ringway_sys::cache::fetch;

use lines::{Lines, ids};
use pending::Pending;

/// Records for each line at which the table grows: five sixths of its slots.
const FILL: usize = 10;
const FIRST_LINES: usize = 16;

/// Ids of records, found by a 64-bit hash of their key.
///
/// The caller keeps records, keys and hashes. The table grows to twice its lines when it is three quarters full. Each
/// insertion moves one line then, so none takes long. Both halves are searched meanwhile.
///
/// ```
/// use ringway_flows::base::table::Table;
///
/// let keys = ["first", "second"];
/// let hash = |key: &str| key.bytes().fold(1, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
/// let mut table = Table::new(1000);
/// for id in 0..2 {
///     table.insert(hash(keys[id as usize]), id, |id| hash(keys[id as usize]));
/// }
/// assert_eq!(table.find(hash("second"), |id| keys[id as usize] == "second"), Some(1));
/// assert!(table.remove(hash("second"), 1));
/// assert_eq!(table.find(hash("second"), |id| keys[id as usize] == "second"), None);
/// ```
#[derive(Debug)]
pub struct Table {
    lines: Lines,
    /// The lines before the table grew, and how many of them are moved.
    old: Option<(Lines, usize)>,
    /// The last records, which are not in the lines yet.
    pending: Pending,
    len: usize,
    ids: u32,
}

impl Table {
    /// Most ids of a table.
    pub const MAX_IDS: u32 = (1 << 31) - 1;

    /// A table for ids below `ids`.
    ///
    /// # Panics
    /// When `ids` is above [`MAX_IDS`](Self::MAX_IDS).
    pub fn new(ids: u32) -> Self {
        Self::with_room(ids, 0)
    }

    /// The same, with room for `records`. The last steps of growth free memory, which takes milliseconds with millions of
    /// records: give the room at the start when so many will come.
    ///
    /// # Panics
    /// When `ids` is above [`MAX_IDS`](Self::MAX_IDS).
    pub fn with_room(ids: u32, records: u32) -> Self {
        assert!(ids <= Self::MAX_IDS, "{ids} ids: a table has room for {} ids", Self::MAX_IDS);
        let lines = (records.min(ids) as usize).div_ceil(FILL).next_power_of_two().max(FIRST_LINES);
        Self { lines: Lines::new(lines), old: None, pending: Pending::default(), len: 0, ids }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let of = |lines: &Lines| lines.words.len() * size_of::<u32>();
        of(&self.lines) + self.old.as_ref().map_or(0, |(old, _)| of(old))
    }

    /// Asks the processor to fetch the line of a hash, for a search soon after.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        fetch(self.lines.line(hash as usize));
    }

    /// The record with this hash for which `is_it` is true. `is_it` sees few other records.
    ///
    /// With `|_| true` this is a guess that reads no record: the caller may touch that record early.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        match self.lines.find(hash, &mut is_it) {
            None if !self.pending.is_empty() || self.old.is_some() => self.find_elsewhere(hash, is_it),
            found => found,
        }
    }

    #[cold]
    fn find_elsewhere(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let pending = self.pending.find(hash, &mut is_it);
        pending.or_else(|| self.old.as_ref()?.0.find(hash, &mut is_it))
    }

    /// Adds a record that is not in the table. `hash_of` gives the hash of a record that is.
    ///
    /// # Panics
    /// When `id` is not below the number that [`new`](Self::new) got.
    #[inline]
    pub fn insert(&mut self, hash: u64, id: u32, hash_of: impl FnMut(u32) -> u64) {
        assert!(id < self.ids, "id {id} in a table of {} ids", self.ids);
        if self.old.is_some() || self.len >= self.lines.len() * FILL {
            self.grow(hash_of);
        }
        self.prefetch(hash);
        if let Some((hash, id)) = self.pending.push(hash, id) {
            self.lines.insert(hash, id);
        }
        self.len += 1;
    }

    /// Removes a record. False when it is not there.
    #[inline]
    pub fn remove(&mut self, hash: u64, id: u32) -> bool {
        let removed = self.lines.remove(hash, id)
            || self.pending.remove(hash, id)
            || self.old.as_mut().is_some_and(|(old, _)| old.remove(hash, id));
        self.len -= usize::from(removed);
        removed
    }

    /// Begins to grow, or moves one more line.
    #[cold]
    fn grow(&mut self, mut hash_of: impl FnMut(u32) -> u64) {
        let (mut old, at) = self.old.take().unwrap_or_else(|| {
            let larger = Lines::new(self.lines.len() * 2);
            (std::mem::replace(&mut self.lines, larger), 0)
        });
        let line = *old.line(at);
        for id in ids(&line) {
            let hash = hash_of(id);
            old.remove(hash, id);
            self.lines.insert(hash, id);
        }
        if at + 1 < old.len() {
            self.old = Some((old, at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Records are keys; hashes may be made to collide.
    struct Checked {
        table: Table,
        model: HashMap<u32, u32>,
        keys: Vec<u32>,
        hash: fn(u32) -> u64,
    }

    impl Checked {
        fn new(ids: u32, hash: fn(u32) -> u64) -> Self {
            Self { table: Table::new(ids), model: HashMap::new(), keys: vec![0; ids as usize], hash }
        }

        fn find(&self, key: u32) -> Option<u32> {
            self.table.find((self.hash)(key), |id| self.keys[id as usize] == key)
        }

        fn insert(&mut self, key: u32, id: u32) {
            self.keys[id as usize] = key;
            let (hash, keys) = (self.hash, &self.keys);
            self.table.insert(hash(key), id, |id| hash(keys[id as usize]));
            self.model.insert(key, id);
        }

        fn remove(&mut self, key: u32, id: u32) {
            assert!(self.table.remove((self.hash)(key), id));
            assert!(!self.table.remove((self.hash)(key), id), "{key} was there twice");
            self.model.remove(&key);
        }

        fn check(&self, absent: u32) {
            assert_eq!(self.table.len(), self.model.len());
            for (&key, &id) in &self.model {
                assert_eq!(self.find(key), Some(id), "{key}");
            }
            assert_eq!(self.find(absent), None);
            assert!(self.table.lines.len() == FIRST_LINES || self.table.len * 4 <= self.table.bytes());
        }
    }

    fn spread(key: u32) -> u64 {
        u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20)
    }

    /// Few lines and few tags.
    fn crowded(key: u32) -> u64 {
        u64::from(key % 3) << 62 | u64::from(key % 5)
    }

    fn same(_: u32) -> u64 {
        u64::MAX
    }

    proptest! {
        #[test]
        fn equals_a_hash_map(
            steps in vec((0u32..10, 0u32..400), 1..1500), crowd: bool,
        ) {
            let mut checked = Checked::new(400, if crowd { crowded } else { spread });
            for (at, (kind, key)) in steps.into_iter().enumerate() {
                match checked.model.get(&key).copied() {
                    Some(id) if kind < 3 => checked.remove(key, id),
                    None => checked.insert(key, key ^ 1),
                    Some(_) => {}
                }
                prop_assert_eq!(checked.find(key), checked.model.get(&key).copied());
                if at % 100 == 0 {
                    checked.check(1000);
                }
            }
            checked.check(1000);
            for (key, id) in checked.model.clone() {
                checked.remove(key, id);
            }
            checked.check(0);
            // No count is left behind, which would make searches longer for ever.
            prop_assert!(checked.table.lines.words.iter().all(|&word| word == 0));
            prop_assert!(checked.table.pending.is_empty());
        }
    }

    #[test]
    fn one_hash_for_all() {
        let mut checked = Checked::new(300, same);
        (0..300).for_each(|key| checked.insert(key, 299 - key));
        checked.check(300);
        (0..300).step_by(2).for_each(|key| checked.remove(key, 299 - key));
        checked.check(2);
    }

    #[test]
    fn grows_through_many_sizes_and_serves_meanwhile() {
        let ids = 110_000;
        let mut checked = Checked::new(ids, spread);
        for key in 0..ids {
            checked.insert(key, key);
            assert_eq!(checked.find(key / 2), Some(key / 2));
            assert_eq!(checked.find(key + 1), None);
        }
        checked.check(ids);
        assert!(checked.table.old.is_none());
        // 2^13 lines of 64 bytes serve up to 81,920 records, so these need 2^14.
        assert!(checked.table.bytes() < (64 << 14) + 64);
    }

    #[test]
    fn room_given_at_the_start_is_enough() {
        for records in [0, 1, 159, 160, 161, 10_000] {
            let mut table = Table::with_room(20_000, records);
            let bytes = table.bytes();
            (0..records).for_each(|id| table.insert(spread(id), id, |_| unreachable!("no record moves")));
            assert_eq!((table.bytes(), table.len()), (bytes, records as usize));
        }
        assert!(Table::with_room(100, u32::MAX).bytes() < 2000, "no more room than ids");
    }

    #[test]
    fn lines_are_cache_lines_and_the_largest_id_fits() {
        let mut table = Table::new(Table::MAX_IDS);
        assert_eq!(table.lines.line(3).as_ptr().addr() % 64, 0);
        table.insert(u64::MAX, Table::MAX_IDS - 1, |_| u64::MAX);
        table.insert(u64::MAX, 0, |_| u64::MAX);
        table.prefetch(u64::MAX);
        assert_eq!(table.find(u64::MAX, |id| id != 0), Some(Table::MAX_IDS - 1));
        assert_eq!(table.find(u64::MAX, |id| id == 0), Some(0));
    }
}
