//! All routes, as the control plane keeps them: direct arrays for prefixes up to /16, below them a tree of [`Block`]s.

use super::block::{Block, route};
use super::memory::ROOT;

/// Bits decided by the root.
pub(super) const ROOT_BITS: u8 = 16;

/// The block number that stands for none.
pub(super) const NONE: u32 = 0;

#[derive(Debug)]
pub(super) struct Routes {
    /// Next hops of prefixes up to /16, by 1 followed by their bits; 0: no such route.
    short: Box<[u16]>,
    /// Next hop of the longest of these, by the first 16 bits.
    cover: Box<[u16]>,
    /// The block for longer prefixes, by the first 16 bits.
    tops: Box<[u32]>,
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// Root entries that something changed below, each once.
    changed: Vec<u16>,
    is_changed: Box<[bool]>,
    count: usize,
}

impl Routes {
    pub(super) fn new() -> Self {
        Self {
            short: vec![0; 2 * ROOT].into(),
            cover: vec![0; ROOT].into(),
            tops: vec![NONE; ROOT].into(),
            blocks: vec![Block::default()],
            free: Vec::new(),
            changed: Vec::new(),
            is_changed: vec![false; ROOT].into(),
            count: 0,
        }
    }

    /// How many routes there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn cover(&self, top: u16) -> u16 {
        self.cover[usize::from(top)]
    }

    pub(super) fn top(&self, top: u16) -> u32 {
        self.tops[usize::from(top)]
    }

    pub(super) fn block(&self, id: u32) -> &Block {
        &self.blocks[id as usize]
    }

    pub(super) fn block_mut(&mut self, id: u32) -> &mut Block {
        &mut self.blocks[id as usize]
    }

    /// A root entry that something changed below, each once.
    pub(super) fn next_changed(&mut self) -> Option<u16> {
        let top = self.changed.pop()?;
        self.is_changed[usize::from(top)] = false;
        Some(top)
    }

    /// The next hop of a prefix; 0: there is no such route.
    pub(super) fn get(&self, key: u128, len: u8) -> u16 {
        if len <= ROOT_BITS {
            return self.short[short_index(key, len)];
        }
        let mut id = self.tops[top_of(key)];
        for depth in (ROOT_BITS..).step_by(8) {
            if id == NONE {
                return 0;
            }
            let (block, byte) = (&self.blocks[id as usize], byte_at(key, depth));
            if len <= depth + 8 {
                return block.get(route(byte, len - depth));
            }
            id = block.child(byte).map_or(NONE, |c| c.block);
        }
        0
    }

    /// Sets the next hop of a prefix, 0 to remove the route; returns the one before.
    pub(super) fn set(&mut self, key: u128, len: u8, next_hop: u16) -> u16 {
        let before = self.get(key, len);
        if before == next_hop {
            return before;
        }
        self.count = self.count + usize::from(next_hop != 0) - usize::from(before != 0);
        if len <= ROOT_BITS {
            self.set_short(short_index(key, len), next_hop);
            return before;
        }
        let top = top_of(key);
        self.mark(top);
        if self.tops[top] == NONE {
            self.tops[top] = self.add();
        }
        let (mut id, mut depth) = (self.tops[top], ROOT_BITS);
        while len > depth + 8 {
            id = self.touched_child(id, byte_at(key, depth));
            depth += 8;
        }
        self.blocks[id as usize].set(route(byte_at(key, depth), len - depth), next_hop)
    }

    /// Removes a block and all below it from the one above it.
    pub(super) fn remove(&mut self, parent: u32, id: u32) {
        self.blocks[parent as usize].remove_child(id);
        self.discard(id);
    }

    /// Removes a block and all below it from the root.
    pub(super) fn remove_top(&mut self, top: u16) {
        let id = std::mem::replace(&mut self.tops[usize::from(top)], NONE);
        self.discard(id);
    }

    /// Every route as key, length and next hop: those up to /16 by length, then the longer ones by key.
    pub(super) fn all(&self) -> Vec<(u128, u8, u16)> {
        let mut out = Vec::with_capacity(self.count);
        for (index, &next_hop) in self.short.iter().enumerate().filter(|(_, n)| **n != 0) {
            let len = index.ilog2();
            let bits = (index - (1 << len)) as u128;
            out.push((bits.checked_shl(128 - len).unwrap_or(0), len as u8, next_hop));
        }
        for (top, &id) in self.tops.iter().enumerate().filter(|(_, id)| **id != NONE) {
            self.below(id, (top as u128) << 112, ROOT_BITS, &mut out);
        }
        out
    }

    fn below(&self, id: u32, key: u128, depth: u8, out: &mut Vec<(u128, u8, u16)>) {
        let block = self.block(id);
        for (route, next_hop) in block.routes() {
            let len = route.ilog2();
            let bits = u128::from(route - (1 << len)) << (128 - u32::from(depth) - len);
            out.push((key | bits, depth + len as u8, next_hop));
        }
        for child in block.children() {
            self.below(child.block, key | u128::from(child.slot) << (120 - depth), depth + 8, out);
        }
    }

    /// The block below a slot, made if there is none, and noted as changed.
    fn touched_child(&mut self, id: u32, slot: u8) -> u32 {
        let child = self.block(id).child(slot).map(|c| c.block).unwrap_or_else(|| {
            let child = self.add();
            self.block_mut(id).add_child(slot, child);
            child
        });
        if !std::mem::replace(&mut self.block_mut(child).queued, true) {
            self.block_mut(id).touch(slot);
        }
        child
    }

    fn discard(&mut self, id: u32) {
        let block = std::mem::take(&mut self.blocks[id as usize]);
        block.children().iter().for_each(|c| self.discard(c.block));
        self.free.push(id);
    }

    fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block::default());
            self.blocks.len() as u32 - 1
        })
    }

    fn mark(&mut self, top: usize) {
        if !std::mem::replace(&mut self.is_changed[top], true) {
            self.changed.push(top as u16);
        }
    }

    fn set_short(&mut self, index: usize, next_hop: u16) {
        self.short[index] = next_hop;
        let above = std::iter::successors(Some(index), |i| (*i > 1).then_some(i / 2));
        let inherited = above.map(|i| self.short[i]).find(|&n| n != 0).unwrap_or(0);
        self.spread(index, inherited);
    }

    /// Hands a next hop down to where a longer route begins.
    fn spread(&mut self, index: usize, next_hop: u16) {
        if index >= ROOT {
            let top = index - ROOT;
            if std::mem::replace(&mut self.cover[top], next_hop) != next_hop {
                self.mark(top);
            }
            return;
        }
        for half in [2 * index, 2 * index + 1] {
            let own = self.short[half];
            self.spread(half, if own != 0 { own } else { next_hop });
        }
    }
}

fn short_index(key: u128, len: u8) -> usize {
    1 << len | key.checked_shr(128 - u32::from(len)).unwrap_or(0) as usize
}

fn top_of(key: u128) -> usize {
    (key >> 112) as usize
}

fn byte_at(key: u128, depth: u8) -> u8 {
    (key >> (120 - depth)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::mask;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn routes_are_kept(changes in prop::collection::vec((0..4u128, 0..=128u8, 0..3u16), 0..200)) {
            let mut routes = Routes::new();
            let mut model = BTreeMap::new();
            for (n, len, next_hop) in changes {
                let key = n.wrapping_mul(0x5555_1234_5678_9abc_def0_1234_5678_9abc) & mask(len);
                let before = match next_hop {
                    0 => model.remove(&(key, len)),
                    _ => model.insert((key, len), next_hop),
                };
                prop_assert_eq!(routes.set(key, len, next_hop), before.unwrap_or(0));
                prop_assert_eq!(routes.get(key, len), next_hop);
                prop_assert_eq!(routes.len(), model.len());
            }
            let all: BTreeMap<_, _> = routes.all().into_iter().map(|(k, l, n)| ((k, l), n)).collect();
            prop_assert_eq!(all, model);
        }
    }

    #[test]
    fn short_routes_cover_what_no_longer_one_does() {
        let mut routes = Routes::new();
        let changed = |routes: &mut Routes| std::iter::from_fn(|| routes.next_changed()).count();
        routes.set(0, 0, 1);
        assert_eq!(changed(&mut routes), ROOT);
        routes.set(0x0a << 120, 8, 2);
        routes.set(0x0a80 << 112, 9, 3);
        assert_eq!(changed(&mut routes), 256);
        let cover = |r: &Routes| [0x0900, 0x0a7f, 0x0aff].map(|top| r.cover(top));
        assert_eq!(cover(&routes), [1, 2, 3]);
        routes.set(0x0a << 120, 8, 0);
        assert_eq!(cover(&routes), [1, 1, 3]);
        assert_eq!(changed(&mut routes), 128);
    }
}
