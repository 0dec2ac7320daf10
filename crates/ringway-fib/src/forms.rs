//! Nodes and buckets: a new one for a change, or other leaves in place where the runs are there already.

use std::sync::atomic::Ordering::Relaxed;

use super::error::Part;
use super::form::{
    BUCKET_UNITS, HEAD, Runs, UNIT, bucket_handle, bucket_parts, is_bucket, is_node, node_handle, node_head,
    node_parts, node_starts, ones, run_starts,
};
use super::store::Store;
use super::{FibError, SLOTS};

impl Store {
    /// The leaf for 256 slots whose form was `old`, a node or the only value there is, and how many runs there are.
    pub(super) fn node(&mut self, old: u32, slots: &[u32; SLOTS]) -> Result<(u32, u16), FibError> {
        let starts = run_starts(slots);
        let mut runs = std::mem::take(&mut self.runs);
        runs.set(slots, &starts);
        let len = runs.len() as u16;
        let leaf = self.node_of(old, slots, starts, &mut runs);
        self.runs = runs;
        Ok((leaf?, len))
    }

    fn node_of(
        &mut self,
        old: u32,
        slots: &[u32; SLOTS],
        starts: [u64; 4],
        runs: &mut Runs,
    ) -> Result<u32, FibError> {
        if let Some(value) = runs.only() {
            self.forget(old);
            return Ok(value);
        }
        if let Some(stored) = self.fitting_node(old, starts, runs) {
            let (width, first) = node_parts(old);
            runs.set(slots, &stored);
            runs.width = width;
            self.replace_leaves(first + HEAD, runs);
            return Ok(old);
        }
        let node = self.make_node(starts, runs)?;
        self.forget(old);
        Ok(node)
    }

    /// Replaces a handle in the leaves of a node: it is the only one of its kind, so it is a run of its own.
    pub(super) fn replace_handle(&mut self, node: u32, slot: u8, handle: u32) {
        let (_, first) = node_parts(node);
        let starts = node_starts(self.memory.words(), first);
        let run = ones(starts).take_while(|at| *at <= usize::from(slot)).count();
        self.plan.words.push(((first + HEAD + run) as u32, handle));
    }

    /// The leaf for 16 bits in few runs, of which all but the first begin at `keys`.
    pub(super) fn bucket(&mut self, old: u32, keys: &[u16], runs: &Runs) -> Result<u32, FibError> {
        if let Some(value) = runs.only() {
            self.forget(old);
            return Ok(value);
        }
        if self.replace_in_bucket(old, keys, runs) {
            return Ok(old);
        }
        let key_words = keys.len().div_ceil(2);
        let unit = self.take(key_words + runs.words(), false)?;
        if unit >= BUCKET_UNITS {
            return Err(FibError::Full { part: Part::Buckets, limit: BUCKET_UNITS * UNIT as u32 });
        }
        self.write(unit, packed_keys(keys).chain(runs.packed()));
        self.forget(old);
        Ok(bucket_handle(unit, keys.len(), runs.width))
    }

    /// The slots at which runs of `old` start, if that is a node whose runs can have the wanted leaves.
    fn fitting_node(&self, old: u32, starts: [u64; 4], runs: &Runs) -> Option<[u64; 4]> {
        if !is_node(old) {
            return None;
        }
        let (width, first) = node_parts(old);
        let stored = node_starts(self.memory.words(), first);
        let count = 1 + stored.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        let inside = stored.iter().zip(starts).all(|(stored, wanted)| wanted & !stored == 0);
        (inside && runs.fit(count, width)).then_some(stored)
    }

    /// Stores the leaves in place if `old` is a bucket that has all keys, and perhaps more.
    fn replace_in_bucket(&mut self, old: u32, keys: &[u16], runs: &Runs) -> bool {
        if !is_bucket(old) {
            return false;
        }
        let (width, count, first) = bucket_parts(old);
        if !runs.fit(count + 1, width) {
            return false;
        }
        let key = |k: usize| (self.memory.words()[first + k / 2].load(Relaxed) >> (16 * (k & 1))) as u16;
        let mut split = std::mem::take(&mut self.runs);
        let all_found = split.split(runs, keys, (0..count).map(key));
        split.width = width;
        if all_found {
            self.replace_leaves(first + count.div_ceil(2), &split);
        }
        self.runs = split;
        all_found
    }

    /// Each word is stored at once, so that a reader finds the old leaf or the new one.
    fn replace_leaves(&mut self, first: usize, runs: &Runs) {
        for (at, word) in (first..).zip(runs.packed()) {
            if self.memory.words()[at].load(Relaxed) != word {
                self.plan.words.push((at as u32, word));
            }
        }
    }

    pub(super) fn make_node(&mut self, starts: [u64; 4], runs: &Runs) -> Result<u32, FibError> {
        let unit = self.take(HEAD + runs.words(), true)?;
        self.write(unit, node_head(starts).chain(runs.packed()));
        Ok(node_handle(unit, runs.width))
    }
}

/// Two keys in a word; the last one may be alone.
fn packed_keys(keys: &[u16]) -> impl Iterator<Item = u32> {
    keys.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16)
}
