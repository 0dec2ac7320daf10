//! Which parts of the lookup memory are in use.

/// Runs of words: leaves and buckets. Freed runs are kept by length and joined with their neighbours when nothing else fits.
#[derive(Debug)]
pub(super) struct Words {
    limit: u32,
    /// Words from here on were never used, or are free again.
    top: u32,
    used: u32,
    /// First words of free runs, by length.
    free: Vec<Vec<u32>>,
}

/// The longest run that is asked for: 256 leaves of 32 bits.
pub(super) const MAX_RUN: usize = 256;

impl Words {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, top: 0, used: 0, free: vec![Vec::new(); MAX_RUN + 1] }
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Words from the start to the last one in use.
    pub(super) fn spread(&self) -> u32 {
        self.top
    }

    /// The first of `len` free words, from now on in use.
    pub(super) fn take(&mut self, len: usize) -> Option<u32> {
        let at = self.find(len).or_else(|| {
            self.join();
            self.find(len)
        })?;
        self.used += len as u32;
        Some(at)
    }

    pub(super) fn give(&mut self, at: u32, len: usize) {
        self.used -= len as u32;
        self.free[len].push(at);
        if self.used == 0 {
            self.free.iter_mut().for_each(Vec::clear);
            self.top = 0;
        }
    }

    fn find(&mut self, len: usize) -> Option<u32> {
        if let Some(at) = self.free[len].pop() {
            return Some(at);
        }
        if self.limit - self.top >= len as u32 {
            self.top += len as u32;
            return Some(self.top - len as u32);
        }
        let longer = (len + 1..=MAX_RUN).find(|&l| !self.free[l].is_empty())?;
        let at = self.free[longer].pop()?;
        self.free[longer - len].push(at + len as u32);
        Some(at)
    }

    /// Joins free runs that touch, and cuts them into the longest ones that are asked for.
    fn join(&mut self) {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (len, list) in self.free.iter_mut().enumerate() {
            runs.extend(list.drain(..).map(|at| (at, len as u32)));
        }
        runs.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (at, len) in runs {
            match joined.last_mut() {
                Some((start, size)) if *start + *size == at => *size += len,
                _ => joined.push((at, len)),
            }
        }
        for (mut at, mut len) in joined {
            if at + len == self.top {
                self.top = at;
                continue;
            }
            while len > 0 {
                let piece = len.min(MAX_RUN as u32);
                self.free[piece as usize].push(at);
                (at, len) = (at + piece, len - piece);
            }
        }
    }
}

/// Numbers of nodes, from `first` up to `limit`.
#[derive(Debug)]
pub(super) struct Numbers {
    first: u32,
    limit: u32,
    top: u32,
    free: Vec<u32>,
}

impl Numbers {
    pub(super) fn new(first: u32, limit: u32) -> Self {
        Self { first, limit, top: first, free: Vec::new() }
    }

    pub(super) fn count(&self) -> u32 {
        self.limit - self.first
    }

    pub(super) fn used(&self) -> u32 {
        self.top - self.first - self.free.len() as u32
    }

    /// Numbers from the first to the last one in use.
    pub(super) fn spread(&self) -> u32 {
        self.top - self.first
    }

    pub(super) fn holds(&self, number: u32) -> bool {
        (self.first..self.limit).contains(&number)
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        (self.top < self.limit).then(|| {
            self.top += 1;
            self.top - 1
        })
    }

    pub(super) fn give(&mut self, number: u32) {
        self.free.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Runs in use never overlap, and all words can be had again when none is in use.
        #[test]
        fn runs_do_not_overlap(steps in prop::collection::vec((any::<bool>(), 1..=40usize), 1..300)) {
            let mut words = Words::new(1000);
            let mut held: Vec<(u32, usize)> = Vec::new();
            for (take, len) in steps {
                if take {
                    let Some(at) = words.take(len) else { continue };
                    prop_assert!(at as usize + len <= 1000);
                    for &(other, n) in &held {
                        prop_assert!(at as usize + len <= other as usize || other as usize + n <= at as usize);
                    }
                    held.push((at, len));
                } else if !held.is_empty() {
                    let (at, n) = held.swap_remove(len % held.len());
                    words.give(at, n);
                }
                prop_assert_eq!(words.used() as usize, held.iter().map(|h| h.1).sum::<usize>());
            }
            held.into_iter().for_each(|(at, n)| words.give(at, n));
            let all: Vec<_> = std::iter::from_fn(|| words.take(250)).collect();
            prop_assert_eq!(all.len(), 4);
        }
    }

    #[test]
    fn numbers_are_bounded_and_come_back() {
        let mut n = Numbers::new(10, 12);
        assert_eq!((n.take(), n.take(), n.take()), (Some(10), Some(11), None));
        n.give(10);
        assert_eq!((n.used(), n.spread(), n.count()), (1, 2, 2));
        assert_eq!(n.take(), Some(10));
        assert!(n.holds(11) && !n.holds(12));
    }
}
