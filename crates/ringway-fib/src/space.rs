//! Which units of the lookup memory are in use.

use super::SLOTS;
use super::form::{HEAD, UNIT};

/// Runs of units: nodes and buckets. Freed runs are kept by length and joined with their neighbours when nothing else fits.
#[derive(Debug)]
pub(super) struct Units {
    limit: u32,
    /// Units from here on were never used, or are free again.
    top: u32,
    used: u32,
    /// First units of free runs, by length.
    free: Vec<Vec<u32>>,
}

/// The longest run that is asked for: a node with 256 leaves of 32 bits.
const MAX_RUN: usize = (HEAD + SLOTS).div_ceil(UNIT);

impl Units {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, top: 0, used: 0, free: vec![Vec::new(); MAX_RUN + 1] }
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Units from the start to the last one in use.
    pub(super) fn spread(&self) -> u32 {
        self.top
    }

    /// The first of `len` free units, from now on in use.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Runs in use never overlap, and all words can be had again when none is in use.
        #[test]
        fn runs_do_not_overlap(steps in prop::collection::vec((any::<bool>(), 1..=40usize), 1..300)) {
            let mut units = Units::new(1000);
            let mut held: Vec<(u32, usize)> = Vec::new();
            for (take, len) in steps {
                if take {
                    let Some(at) = units.take(len) else { continue };
                    prop_assert!(at as usize + len <= 1000);
                    for &(other, n) in &held {
                        prop_assert!(at as usize + len <= other as usize || other as usize + n <= at as usize);
                    }
                    held.push((at, len));
                } else if !held.is_empty() {
                    let (at, n) = held.swap_remove(len % held.len());
                    units.give(at, n);
                }
                prop_assert_eq!(units.used() as usize, held.iter().map(|h| h.1).sum::<usize>());
            }
            held.into_iter().for_each(|(at, n)| units.give(at, n));
            let all: Vec<_> = std::iter::from_fn(|| units.take(125)).collect();
            prop_assert_eq!(all.len(), 8);
        }
    }
}
