//! Lines of slots: a search, an insertion and a removal each begin at the line of a hash.

use ringway_sys::huge_pages::ask_for_huge_pages;

/// Words of a line: an id for each slot, a tag of one byte for each slot, and the count.
pub(super) const WORDS: usize = 16;
pub(super) const SLOTS: usize = 12;
const COUNT: usize = WORDS - 1;

/// A power of two of lines, each in one cache line.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) words: Vec<u32>,
    /// The word with which the first line begins.
    first: usize,
    mask: usize,
}

impl Lines {
    pub(super) fn new(lines: usize) -> Self {
        // The kernel gives zeros page by page, when a line is first used.
        let mut words = vec![0; lines * WORDS + WORDS - 1];
        ask_for_huge_pages(&mut words);
        let first = words.as_ptr().align_offset(64).min(WORDS - 1);
        Self { words, first, mask: lines - 1 }
    }

    pub(super) fn len(&self) -> usize {
        self.mask + 1
    }

    /// The line of a number, modulo the number of lines.
    #[inline(always)]
    pub(super) fn line(&self, line: usize) -> &[u32; WORDS] {
        let at = self.first + (line & self.mask) * WORDS;
        self.words[at..].first_chunk().expect("each line is whole")
    }

    #[inline(always)]
    fn line_mut(&mut self, line: usize) -> &mut [u32; WORDS] {
        let at = self.first + (line & self.mask) * WORDS;
        self.words[at..].first_chunk_mut().expect("each line is whole")
    }

    #[inline(always)]
    pub(super) fn find(&self, hash: u64, is_it: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        let line = self.line(hash as usize);
        match among(line, tag(hash), is_it) {
            None if passed(line) => self.find_behind(hash, is_it),
            Some(slot) => Some(line[slot]),
            None => None,
        }
    }

    /// Searches the lines behind the first one.
    #[cold]
    fn find_behind(&self, hash: u64, is_it: &mut impl FnMut(u32) -> bool) -> Option<u32> {
        for step in 1..=self.mask {
            let line = self.line((hash as usize).wrapping_add(step));
            if let Some(slot) = among(line, tag(hash), is_it) {
                return Some(line[slot]);
            }
            if !passed(line) {
                break;
            }
        }
        None
    }

    /// Puts an id into the first free slot. There is one, as tables grow in time.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, id: u32) {
        let mut at = hash as usize;
        loop {
            let line = self.line_mut(at);
            if let Some(slot) = among(line, 0, &mut |_| true) {
                line[slot] = id;
                line[SLOTS + slot / 4] |= tag(hash) << (slot % 4 * 8);
                return;
            }
            line[COUNT] += 1;
            at = at.wrapping_add(1);
        }
    }

    /// Frees the slot with this id, and the counts of the lines before it.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, id: u32) -> bool {
        for step in 0..=self.mask {
            let line = self.line_mut((hash as usize).wrapping_add(step));
            if let Some(slot) = among(line, tag(hash), &mut |other| other == id) {
                line[slot] = 0;
                line[SLOTS + slot / 4] &= !(0xff << (slot % 4 * 8));
                (0..step).for_each(|step| self.line_mut((hash as usize).wrapping_add(step))[COUNT] -= 1);
                return true;
            }
            if !passed(line) {
                break;
            }
        }
        false
    }
}

/// The ids of a line's slots that are not free.
pub(super) fn ids(line: &[u32; WORDS]) -> impl Iterator<Item = u32> {
    let used = move |slot: &usize| line[SLOTS + slot / 4] >> (slot % 4 * 8) & 0xff != 0;
    (0..SLOTS).filter(used).map(|slot| line[slot])
}

/// The tag of a hash: not 0, which marks a free slot.
#[inline(always)]
pub(super) const fn tag(hash: u64) -> u32 {
    let tag = (hash >> 56) as u32;
    if tag == 0 { 1 } else { tag }
}

/// Whether records for which a line had no room are behind it.
#[inline(always)]
const fn passed(line: &[u32; WORDS]) -> bool {
    line[COUNT] != 0
}

/// The first slot of a line with a tag for whose id `is_it` is true.
#[inline(always)]
fn among(line: &[u32; WORDS], tag: u32, is_it: &mut impl FnMut(u32) -> bool) -> Option<usize> {
    let (first, last) = hits(line, tag);
    for (mut hits, from) in [(first, 0), (last, 8)] {
        while hits != 0 {
            let slot = from + hits.trailing_zeros() as usize / 8;
            if is_it(line[slot]) {
                return Some(slot);
            }
            hits &= hits - 1;
        }
    }
    None
}

/// The slots of a line with a tag, the first eight and the last four: the highest bit of a byte for each.
#[inline(always)]
fn hits(line: &[u32; WORDS], tag: u32) -> (u64, u64) {
    let tags = u64::from(tag) * 0x0101_0101_0101_0101;
    let word = |at: usize| u64::from(line[SLOTS + at]);
    (zeros((word(0) | word(1) << 32) ^ tags), zeros(word(2) ^ tags) & 0xffff_ffff)
}

/// The highest bit of each byte that is 0. Nothing is carried from one byte to the next.
#[inline(always)]
pub(super) const fn zeros(bytes: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    !(((bytes & LOW) + LOW) | bytes | LOW)
}
