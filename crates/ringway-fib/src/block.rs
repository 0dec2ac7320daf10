//! The routes of one 8-bit step, as the control plane keeps them.
//!
//! A route of a block is a number below 512: 1 followed by the bits of the prefix behind the block's own. So shorter ones are
//! smaller, and painting them in order leaves each slot with the longest match.

use super::SLOTS;

/// Above this many routes a block is an array.
const MANY: usize = 32;

/// The routes whose prefixes are 1 to 8 bits longer than the block's own, and the blocks for longer ones.
#[derive(Debug, Default)]
pub(super) struct Block {
    routes: Routes,
    children: Vec<Child>,
    /// Slots of children that changed since the form was made.
    touched: Vec<u8>,
    /// Among the touched of the block above.
    pub(super) queued: bool,
    /// Slots whose routes, or leaves of children, changed since the form was made.
    pub(super) dirty: Span,
    pub(super) form: Form,
}

/// What a block remembers of its lookup form.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Form {
    /// Its leaf in the block above, or 0 where it has no form of its own.
    pub(super) leaf: u32,
    /// Runs of equal leaves.
    pub(super) runs: u16,
    /// Next hop of what the block has no route for.
    pub(super) default: u16,
    /// How often it was amended since it was made.
    pub(super) amended: u8,
}

/// Slots from one up to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u16,
    pub(super) to: u16,
}

impl Span {
    pub(super) const ALL: Self = Self { from: 0, to: SLOTS as u16 };

    /// The slots of a route.
    fn of(route: u16) -> Self {
        let bits = 8 - route.ilog2();
        let from = (route << bits) - SLOTS as u16;
        Self { from, to: from + (1 << bits) }
    }

    pub(super) fn len(self) -> u16 {
        self.to - self.from
    }

    pub(super) fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// These slots and the slots of another span, with all between.
    fn and(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// The block for prefixes longer still, below one slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    pub(super) slot: u8,
    /// As in its [`Form`], kept here so that it need not be visited.
    pub(super) default: u16,
    pub(super) block: u32,
    /// As in its [`Form`], or [`UNKNOWN`].
    pub(super) leaf: u32,
}

/// No leaf: it must be made. Width 3 does not exist, so no handle looks like this.
pub(super) const UNKNOWN: u32 = u32::MAX;

#[derive(Debug)]
enum Routes {
    /// Route and next hop, by route.
    Few(Vec<(u16, u16)>),
    /// Next hop by route; 0: none.
    Many(Box<[u16; 512]>, u16),
}

impl Default for Routes {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

/// The number of the route with the `len` (1 to 8) topmost bits of `byte`.
pub(super) fn route(byte: u8, len: u8) -> u16 {
    (1 << len) | (u16::from(byte) >> (8 - len))
}

impl Block {
    /// The next hop of a route; 0: there is no such route.
    pub(super) fn get(&self, route: u16) -> u16 {
        match &self.routes {
            Routes::Few(list) => list.binary_search_by_key(&route, |r| r.0).map_or(0, |at| list[at].1),
            Routes::Many(all, _) => all[route as usize],
        }
    }

    /// Sets the next hop of a route, 0 to remove it; returns the one before.
    pub(super) fn set(&mut self, route: u16, next_hop: u16) -> u16 {
        self.dirty = self.dirty.and(Span::of(route));
        match &mut self.routes {
            Routes::Few(list) => match (list.binary_search_by_key(&route, |r| r.0), next_hop) {
                (Ok(at), 0) => list.remove(at).1,
                (Ok(at), _) => std::mem::replace(&mut list[at].1, next_hop),
                (Err(_), 0) => 0,
                (Err(at), _) => {
                    list.insert(at, (route, next_hop));
                    if list.len() > MANY {
                        self.grow();
                    }
                    0
                }
            },
            Routes::Many(all, count) => {
                let before = std::mem::replace(&mut all[route as usize], next_hop);
                *count = *count + u16::from(next_hop != 0) - u16::from(before != 0);
                if usize::from(*count) < MANY / 2 {
                    self.shrink();
                }
                before
            }
        }
    }

    /// Every route and its next hop.
    pub(super) fn routes(&self) -> Vec<(u16, u16)> {
        match &self.routes {
            Routes::Few(list) => list.clone(),
            Routes::Many(all, _) => (0..).zip(all.iter().copied()).filter(|r| r.1 != 0).collect(),
        }
    }

    /// No route, though there may be blocks for longer ones.
    pub(super) fn has_no_route(&self) -> bool {
        match &self.routes {
            Routes::Few(list) => list.is_empty(),
            Routes::Many(_, count) => *count == 0,
        }
    }

    /// The next hop of each slot, `default` where no route covers it.
    pub(super) fn paint(&self, default: u16, slots: &mut [u32; SLOTS]) {
        match &self.routes {
            Routes::Few(list) => {
                slots.fill(u32::from(default));
                for &(route, next_hop) in list {
                    let bits = 8 - route.ilog2() as usize;
                    let first = (usize::from(route) << bits) - SLOTS;
                    slots[first..first + (1 << bits)].fill(u32::from(next_hop));
                }
            }
            Routes::Many(all, _) => paint_many(all, default, slots),
        }
    }

    /// The next hop of one slot, `default` where no route covers it.
    pub(super) fn longest(&self, default: u16, slot: u8) -> u16 {
        (1..=8).rev().map(|len| self.get(route(slot, len))).find(|&n| n != 0).unwrap_or(default)
    }

    /// Whether a block for longer prefixes is below one of these slots.
    pub(super) fn has_child_in(&self, span: Span) -> bool {
        let at = self.children.partition_point(|c| u16::from(c.slot) < span.from);
        self.children.get(at).is_some_and(|c| u16::from(c.slot) < span.to)
    }

    pub(super) fn children(&self) -> &[Child] {
        &self.children
    }

    pub(super) fn child(&self, slot: u8) -> Option<&Child> {
        let at = self.children.binary_search_by_key(&slot, |c| c.slot).ok()?;
        Some(&self.children[at])
    }

    pub(super) fn child_mut(&mut self, slot: u8) -> Option<&mut Child> {
        let at = self.children.binary_search_by_key(&slot, |c| c.slot).ok()?;
        Some(&mut self.children[at])
    }

    pub(super) fn add_child(&mut self, slot: u8, block: u32) {
        let at = self.children.partition_point(|c| c.slot < slot);
        self.children.insert(at, Child { slot, default: 0, block, leaf: UNKNOWN });
    }

    pub(super) fn remove_child(&mut self, block: u32) {
        self.children.retain(|c| c.block != block);
    }

    /// A child that was not queued yet has changed.
    pub(super) fn touch(&mut self, slot: u8) {
        self.touched.push(slot);
    }

    /// The only child that changed, and nothing else did.
    pub(super) fn only_touched(&self) -> Option<&Child> {
        match self.touched[..] {
            [slot] if self.dirty.is_empty() => self.child(slot),
            _ => None,
        }
    }

    /// The slots of children that changed.
    pub(super) fn take_touched(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.touched)
    }

    pub(super) fn is_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    fn grow(&mut self) {
        let mut all = Box::new([0; 512]);
        let list = self.routes();
        for &(route, next_hop) in &list {
            all[usize::from(route)] = next_hop;
        }
        self.routes = Routes::Many(all, list.len() as u16);
    }

    fn shrink(&mut self) {
        self.routes = Routes::Few(self.routes());
    }
}

/// Length by length: each route of a length takes over what the one above it has, unless it has a next hop itself.
fn paint_many(all: &[u16; 512], default: u16, slots: &mut [u32; SLOTS]) {
    let mut above = [default; SLOTS];
    for len in 1..=8 {
        let mut own = [0; SLOTS];
        let count = 1 << len;
        for (k, pair) in own[..count].chunks_exact_mut(2).enumerate() {
            pair.fill(above[k]);
        }
        for (slot, &next_hop) in own[..count].iter_mut().zip(&all[count..2 * count]) {
            *slot = if next_hop != 0 { next_hop } else { *slot };
        }
        above = own;
    }
    for (slot, next_hop) in slots.iter_mut().zip(above) {
        *slot = u32::from(next_hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few and many routes, growing and shrinking, against a search of all lengths.
        #[test]
        fn slots_have_their_longest_match(
            changes in prop::collection::vec((0..=255u8, 1..=8u8, 0..4u16), 0..300),
            default in 0..3u16,
        ) {
            let mut block = Block::default();
            let mut model = [0u16; 512];
            for (byte, len, next_hop) in changes {
                let r = route(byte, len);
                prop_assert_eq!(block.set(r, next_hop), std::mem::replace(&mut model[r as usize], next_hop));
                prop_assert_eq!(block.get(r), next_hop);
            }
            let mut slots = [0; SLOTS];
            block.paint(default, &mut slots);
            for slot in 0..=255 {
                let longest = (1..=8).rev().map(|len| model[route(slot, len) as usize]).find(|&n| n != 0);
                prop_assert_eq!(slots[slot as usize], u32::from(longest.unwrap_or(default)));
            }
            let routes: Vec<_> = (0..).zip(model).filter(|r| r.1 != 0).collect();
            prop_assert_eq!(block.has_no_route(), routes.is_empty());
            prop_assert_eq!(block.routes(), routes);
        }
    }

    #[test]
    fn children_are_found_by_slot() {
        let mut block = Block::default();
        for (slot, id) in [(9, 90), (0, 1), (255, 7)] {
            block.add_child(slot, id);
        }
        assert_eq!(block.children().iter().map(|c| c.block).collect::<Vec<_>>(), [1, 90, 7]);
        assert_eq!(block.child(9).map(|c| c.block), Some(90));
        assert!(block.child(8).is_none());
        [1, 7, 90].into_iter().for_each(|id| block.remove_child(id));
        assert!(block.children().is_empty());
    }
}
