//! Equal beginnings of stacks are one path of a tree.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A call of a function by the path of callers above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The caller's number; `None` for a thread. A caller stands before what it calls.
    pub parent: Option<u32>,
    /// The function, by its place among the frames.
    pub frame: u32,
    /// Samples in the function itself.
    pub samples: u64,
}

/// A tree of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
    samples: u64,
}

impl Tree {
    /// A tree of nodes, of which each parent stands before its children. `None` when that does not hold, when a node names a frame that
    /// is not below `frames`, or when the samples add up to more than 64 bits.
    pub(super) fn of(nodes: Vec<Node>, frames: usize) -> Option<Self> {
        let mut samples = 0u64;
        for (n, node) in nodes.iter().enumerate() {
            let in_order = node.parent.is_none_or(|parent| (parent as usize) < n);
            samples =
                samples.checked_add(node.samples).filter(|_| in_order && (node.frame as usize) < frames)?;
        }
        Some(Self { nodes, samples })
    }

    /// All nodes, callers first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Samples of each node with all that it calls.
    #[must_use]
    pub fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.samples).collect();
        for n in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[n].parent {
                totals[parent as usize] += totals[n];
            }
        }
        totals
    }
}

/// Makes a tree of stacks.
#[derive(Debug, Default)]
pub struct Builder {
    tree: Tree,
    children: HashMap<u64, u32, BuildHasherDefault<Mix>>,
}

impl Builder {
    /// Adds samples of a stack, whose frames go from the thread down to the sampled function.
    pub fn add(&mut self, frames: &[u32], samples: u64) {
        let Some(last) = frames.iter().fold(None, |parent, &frame| Some(self.child(parent, frame))) else {
            return;
        };
        let node = &mut self.tree.nodes[last as usize];
        node.samples = node.samples.saturating_add(samples);
        self.tree.samples = self.tree.samples.saturating_add(samples);
    }

    /// The node of a call, made if it is the first one.
    fn child(&mut self, parent: Option<u32>, frame: u32) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let above = parent.map_or(0, |p| u64::from(p) + 1);
        let number = *self.children.entry(above << 32 | u64::from(frame)).or_insert(next);
        if number == next {
            self.tree.nodes.push(Node { parent, frame, samples: 0 });
        }
        number
    }

    /// The tree.
    #[must_use]
    pub fn done(self) -> Tree {
        self.tree
    }
}

/// Spreads keys that are numbers already. Frames and nodes are numbered in the order of their coming, so nobody chooses keys that collide.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(b.into()));
    }

    fn write_u64(&mut self, n: u64) {
        let n = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = n ^ n >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The stacks of a tree, as a map.
    fn stacks(tree: &Tree) -> BTreeMap<Vec<u32>, u64> {
        let path = |mut n: usize| {
            let mut path = vec![tree.nodes[n].frame];
            while let Some(parent) = tree.nodes[n].parent {
                n = parent as usize;
                path.push(tree.nodes[n].frame);
            }
            path.reverse();
            path
        };
        let used = (0..tree.nodes.len()).filter(|&n| tree.nodes[n].samples > 0);
        used.map(|n| (path(n), tree.nodes[n].samples)).collect()
    }

    proptest! {
        #[test]
        fn a_tree_has_the_stacks_that_went_in(all in prop::collection::vec((prop::collection::vec(0u32..4, 1..6), 1u64..9), 0..60)) {
            let (mut builder, mut model) = (Builder::default(), BTreeMap::new());
            for (stack, samples) in &all {
                builder.add(stack, *samples);
                *model.entry(stack.clone()).or_insert(0) += samples;
            }
            let tree = builder.done();
            prop_assert_eq!(stacks(&tree), model);
            prop_assert_eq!(Tree::of(tree.nodes.clone(), 4), Some(tree.clone()));
            let roots = tree.nodes.iter().zip(tree.totals()).filter(|(node, _)| node.parent.is_none());
            prop_assert_eq!(roots.map(|(_, total)| total).sum::<u64>(), tree.samples());
        }
    }

    #[test]
    fn trees_that_can_not_be_are_refused() {
        let node = |parent, frame, samples| Node { parent, frame, samples };
        assert!(Tree::of(vec![node(Some(0), 0, 1)], 1).is_none(), "its own parent");
        assert!(Tree::of(vec![node(None, 1, 1)], 1).is_none(), "no such frame");
        assert!(Tree::of(vec![node(None, 0, u64::MAX), node(None, 0, 1)], 1).is_none(), "too many samples");
        assert!(Tree::of(vec![node(None, 0, u64::MAX), node(None, 0, 0)], 1).is_some());
    }
}
