//! A set of numbers below 4096 with a quick search for the next one.

/// Numbers that a [`Bits`] may hold are below it.
pub const LIMIT: usize = 64 * 64;

/// A set of numbers below [`LIMIT`]. A summary word says which of the 64 words are not zero, so each operation touches
/// two words, and a search four.
///
/// ```
/// use ringway_flows::base::bits::Bits;
///
/// let mut bits = Bits::new();
/// bits.insert(5);
/// bits.insert(3000);
/// assert_eq!((bits.next_from(6), bits.next_from(3001)), (Some(3000), None));
/// bits.remove(3000);
/// assert_eq!(bits.next_from(6), None);
/// ```
#[derive(Clone, Debug)]
pub struct Bits {
    summary: u64,
    words: [u64; 64],
}

impl Bits {
    /// The empty set.
    pub const fn new() -> Self {
        Self { summary: 0, words: [0; 64] }
    }

    /// Adds a number. The set takes it modulo [`LIMIT`].
    #[inline]
    pub fn insert(&mut self, n: usize) {
        let word = n / 64 % 64;
        self.words[word] |= 1 << (n % 64);
        self.summary |= 1 << word;
    }

    /// Removes a number, modulo [`LIMIT`].
    #[inline]
    pub fn remove(&mut self, n: usize) {
        let word = n / 64 % 64;
        self.words[word] &= !(1 << (n % 64));
        if self.words[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// The smallest number of the set that is not below `n`.
    #[inline]
    pub fn next_from(&self, n: usize) -> Option<usize> {
        if n >= LIMIT {
            return None;
        }
        let word = n / 64;
        let here = self.words[word] & (!0 << (n % 64));
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = self.summary & (!1 << word);
        if later == 0 {
            return None;
        }
        let word = later.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

impl Default for Bits {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equals_a_sorted_set(steps in proptest::collection::vec((any::<bool>(), 0..LIMIT), 0..200), from in 0..=LIMIT) {
            let (mut bits, mut model) = (Bits::new(), BTreeSet::new());
            for (insert, n) in steps {
                if insert {
                    bits.insert(n);
                    model.insert(n);
                } else {
                    let n = model.range(n..).next().copied().unwrap_or(n);
                    bits.remove(n);
                    model.remove(&n);
                }
                prop_assert_eq!(bits.next_from(from), model.range(from..).next().copied());
                prop_assert_eq!(bits.next_from(n), model.range(n..).next().copied());
            }
        }

        #[test]
        fn last_word(n in LIMIT - 64..LIMIT) {
            let mut bits = Bits::new();
            bits.insert(n);
            prop_assert_eq!((bits.next_from(0), bits.next_from(n), bits.next_from(n + 1)), (Some(n), Some(n), None));
        }
    }
}
