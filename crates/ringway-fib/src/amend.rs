//! Changes of a few slots in a form that has the wanted runs already: stores of leaves, without a new form.
//!
//! Most updates are of this kind: a route that is announced again, changes its next hop, or goes and comes back.

use std::sync::atomic::Ordering::Relaxed;

use super::form::{HEAD, bucket_parts, is_bucket, node_parts, node_starts};
use super::store::Store;

/// Neighbouring slots of a node, or values of a bucket, that are to lead to one next hop: from the first up to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) next_hop: u32,
}

/// Where the leaves of a form are.
#[derive(Debug, Clone, Copy)]
struct Leaves {
    first: usize,
    width: u32,
}

impl Store {
    /// Lets a node or bucket lead to other next hops in parts that touch each other, in ascending order; no part covers a handle.
    /// False, and nothing has changed, if that takes other runs or wider leaves.
    pub(super) fn amend(&mut self, handle: u32, parts: &[Part]) -> bool {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return true };
        let before = self.plan.words.len();
        let mut at = first.from;
        while at < last.to {
            let (leaves, run, from, to) =
                if is_bucket(handle) { self.bucket_run(handle, at) } else { self.node_run(handle, at) };
            let inside = parts.iter().filter(|p| p.from < to && from < p.to);
            let wanted = parts.iter().find(|p| at < p.to).map_or(0, |p| p.next_hop);
            let stored = self.leaf(leaves, run);
            let whole = first.from <= from && to <= last.to;
            let fits = leaves.width > 0 || wanted < 1 << 8;
            if inside.into_iter().any(|p| p.next_hop != wanted) || wanted != stored && !(whole && fits) {
                self.plan.words.truncate(before);
                return false;
            }
            if wanted != stored {
                self.plan_leaf(before, leaves, run, wanted);
            }
            at = to;
        }
        true
    }

    /// The run of a slot of a node: where its leaves are, its number, and from where up to where it goes.
    fn node_run(&self, handle: u32, slot: u32) -> (Leaves, usize, u32, u32) {
        let (width, first) = node_parts(handle);
        let (quarter, bit) = ((slot / 64) as usize, slot % 64);
        let starts = node_starts(self.memory.words(), first);
        let word = |k: usize| starts[k];
        let up_to = word(quarter) & (u64::MAX >> (63 - bit));
        let run = (0..quarter).map(|k| word(k).count_ones()).sum::<u32>() + up_to.count_ones();
        let behind = word(quarter) & !(u64::MAX >> (63 - bit));
        let last = |k: usize, bits: u64| (bits != 0).then(|| 64 * k as u32 + 63 - bits.leading_zeros());
        let next = |k: usize, bits: u64| (bits != 0).then(|| 64 * k as u32 + bits.trailing_zeros());
        let from = last(quarter, up_to).or_else(|| (0..quarter).rev().find_map(|k| last(k, word(k))));
        let to = next(quarter, behind).or_else(|| (quarter + 1..4).find_map(|k| next(k, word(k))));
        (Leaves { first: first + HEAD, width }, run as usize, from.unwrap_or(0), to.unwrap_or(256))
    }

    /// The same for a value of a bucket.
    fn bucket_run(&self, handle: u32, value: u32) -> (Leaves, usize, u32, u32) {
        let (width, count, first) = bucket_parts(handle);
        let words = self.memory.words();
        let key = |k: usize| words[first + k / 2].load(Relaxed) >> (16 * (k & 1)) & 0xffff;
        let run = (0..count).take_while(|&k| key(k) <= value).count();
        let from = if run > 0 { key(run - 1) } else { 0 };
        let to = if run < count { key(run) } else { 1 << 16 };
        (Leaves { first: first + count.div_ceil(2), width }, run, from, to)
    }

    fn leaf(&self, leaves: Leaves, run: usize) -> u32 {
        let byte = run << leaves.width;
        let word = self.memory.words()[leaves.first + byte / 4].load(Relaxed);
        word >> (8 * (byte & 3)) & (u64::MAX >> (64 - (8 << leaves.width))) as u32
    }

    /// Plans a leaf, perhaps beside others of its word that were planned from `since` on.
    fn plan_leaf(&mut self, since: usize, leaves: Leaves, run: usize, leaf: u32) {
        let byte = run << leaves.width;
        let at = leaves.first + byte / 4;
        let (shift, mask) = (8 * (byte & 3), (u64::MAX >> (64 - (8 << leaves.width))) as u32);
        let with = |word: u32| word & !(mask << shift) | leaf << shift;
        match self.plan.words[since..].last_mut() {
            Some((planned, word)) if *planned == at as u32 => *word = with(*word),
            _ => self.plan.words.push((at as u32, with(self.memory.words()[at].load(Relaxed)))),
        }
    }
}
