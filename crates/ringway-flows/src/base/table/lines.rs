//! Lines of slots: a search, an insertion and a removal each begin at the line of a hash.

/// Words of a line. The last one is the count.
pub(super) const WORDS: usize = 16;
pub(super) const COUNT: usize = WORDS - 1;

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
        let words = vec![0; lines * WORDS + WORDS - 1];
        let first = words.as_ptr().align_offset(64).min(WORDS - 1);
        Self { words, first, mask: lines - 1 }
    }

    pub(super) fn len(&self) -> usize {
        self.mask + 1
    }

    /// The line of a number, modulo the number of lines.
    #[inline]
    pub(super) fn line(&self, line: usize) -> &[u32; WORDS] {
        let at = self.first + (line & self.mask) * WORDS;
        self.words[at..].first_chunk().expect("each line is whole")
    }

    #[inline]
    fn line_mut(&mut self, line: usize) -> &mut [u32; WORDS] {
        let at = self.first + (line & self.mask) * WORDS;
        self.words[at..].first_chunk_mut().expect("each line is whole")
    }

    #[inline]
    pub(super) fn find(
        &self,
        hash: u64,
        tag: u32,
        id_bits: u32,
        is_it: &mut impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let id_mask = !(!0 << id_bits);
        for step in 0..=self.mask {
            let line = self.line((hash as usize).wrapping_add(step));
            let mut hits = hits(line, |word| word & !id_mask == tag);
            while hits != 0 {
                let id_plus_one = line[hits.trailing_zeros() as usize] & id_mask;
                if id_plus_one != 0 && is_it(id_plus_one - 1) {
                    return Some(id_plus_one - 1);
                }
                hits &= hits - 1;
            }
            if line[COUNT] == 0 {
                break;
            }
        }
        None
    }

    /// Puts a word into the first free slot. There is one, as tables grow in time.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, word: u32) {
        let mut at = hash as usize;
        loop {
            let line = self.line_mut(at);
            let free = hits(line, |word| word == 0);
            if free != 0 {
                line[free.trailing_zeros() as usize] = word;
                return;
            }
            line[COUNT] += 1;
            at = at.wrapping_add(1);
        }
    }

    /// Frees the slot with this word, and the counts of the lines before it.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, word: u32) -> bool {
        for step in 0..=self.mask {
            let line = self.line_mut((hash as usize).wrapping_add(step));
            let hits = hits(line, |slot| slot == word);
            if hits != 0 {
                line[hits.trailing_zeros() as usize] = 0;
                (0..step).for_each(|step| self.line_mut((hash as usize).wrapping_add(step))[COUNT] -= 1);
                return true;
            }
            if line[COUNT] == 0 {
                break;
            }
        }
        false
    }
}

/// A bit for each slot of a line that fits. Without branches, so that the compiler compares several slots at once.
#[inline]
fn hits(line: &[u32; WORDS], fits: impl Fn(u32) -> bool) -> u32 {
    let mut hits = 0;
    for (at, &word) in line[..COUNT].iter().enumerate() {
        hits |= u32::from(fits(word)) << at;
    }
    hits
}
