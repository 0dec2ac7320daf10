//! The last few records of a table, before they come into its lines.
//!
//! With many records, the line of a new one is in main memory. The table asks for the line when the record comes, and writes it some
//! records later.

use super::lines::{tag, zeros};

/// Records that wait.
const ROOM: usize = 8;

/// Records that wait, in a circle. A search compares their tags at once.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// One byte each; 0 is a free place.
    tags: u64,
    records: [(u64, u32); ROOM],
    /// The place of the next record, where the oldest one is.
    next: usize,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.tags == 0
    }

    /// Takes a record, and returns the one for which there is no room any more.
    #[inline(always)]
    pub(super) fn push(&mut self, hash: u64, id: u32) -> Option<(u64, u32)> {
        let place = self.next;
        self.next = (place + 1) % ROOM;
        let shift = place * 8;
        let oldest = (self.tags >> shift & 0xff != 0).then_some(self.records[place]);
        self.tags = self.tags & !(0xff << shift) | u64::from(tag(hash)) << shift;
        self.records[place] = (hash, id);
        oldest
    }

    pub(super) fn find(&self, hash: u64, is_it: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        self.place_of(hash, is_it).map(|place| self.records[place].1)
    }

    /// Frees the place of a record. False when it is not there.
    pub(super) fn remove(&mut self, hash: u64, id: u32) -> bool {
        let place = self.place_of(hash, &mut |other| other == id);
        if let Some(place) = place {
            self.tags &= !(0xff << (place * 8));
        }
        place.is_some()
    }

    #[inline(always)]
    fn place_of(&self, hash: u64, is_it: &mut impl FnMut(u32) -> bool) -> Option<usize> {
        let mut hits = zeros(self.tags ^ (u64::from(tag(hash)) * 0x0101_0101_0101_0101));
        while hits != 0 {
            let place = hits.trailing_zeros() as usize / 8;
            let (other, id) = self.records[place];
            if other == hash && is_it(id) {
                return Some(place);
            }
            hits &= hits - 1;
        }
        None
    }
}
