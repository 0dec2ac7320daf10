//! Equal beginnings of stacks are one path of a tree.

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
    /// A tree of nodes in depth-first order. `None` when they are in another order, when a node names a frame that is not below `frames`, or
    /// when the samples add up to more than 64 bits.
    pub(super) fn of(nodes: Vec<Node>, frames: usize) -> Option<Self> {
        let (mut samples, mut path) = (0u64, Vec::<u32>::new());
        for (n, node) in nodes.iter().enumerate() {
            match node.parent {
                None => path.clear(),
                Some(parent) => {
                    while *path.last()? != parent {
                        path.pop();
                    }
                }
            }
            path.push(u32::try_from(n).ok()?);
            samples = samples.checked_add(node.samples).filter(|_| (node.frame as usize) < frames)?;
        }
        Some(Self { nodes, samples })
    }

    /// All nodes, depth first: behind a caller comes what it calls, with all that is below.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// How many nodes each node has with all that are below it.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![1u32; self.nodes.len()];
        for n in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[n].parent {
                sizes[parent as usize] += sizes[n];
            }
        }
        sizes
    }
}

/// Makes a tree of stacks.
#[derive(Debug, Default)]
pub struct Builder {
    frames: Vec<u32>,
    stacks: Vec<Stack>,
}

/// A stack: its part of the frames, and its samples.
#[derive(Debug, Clone, Copy)]
struct Stack {
    start: usize,
    len: u32,
    samples: u64,
}

/// Stacks that have the frames above `depth` in common, and are children of a node.
struct Task {
    stacks: std::ops::Range<usize>,
    depth: u32,
    parent: Option<u32>,
}

impl Builder {
    /// Adds samples of a stack, whose frames go from the thread down to the sampled function.
    pub fn add(&mut self, frames: &[u32], samples: u64) {
        if !frames.is_empty() {
            self.stacks.push(Stack { start: self.frames.len(), len: frames.len() as u32, samples });
            self.frames.extend_from_slice(frames);
        }
    }

    /// The tree. Stacks are sorted by one frame at a time, and only as far down as they are alike.
    #[must_use]
    pub fn done(mut self) -> Tree {
        let mut tree = Tree::default();
        let mut keys = Vec::new();
        let mut tasks = vec![Task { stacks: 0..self.stacks.len(), depth: 0, parent: None }];
        while let Some(task) = tasks.pop() {
            if let [lone] = &self.stacks[task.stacks.clone()] {
                self.chain(*lone, &task, &mut tree);
            } else {
                self.node(task, &mut keys, &mut tree, &mut tasks);
            }
        }
        tree
    }

    /// The node that all stacks of a task have at its depth, and tasks for what is below. Stacks that differ there become tasks of their own.
    fn node(&mut self, task: Task, keys: &mut Vec<(u32, Stack)>, tree: &mut Tree, tasks: &mut Vec<Task>) {
        let Task { stacks, depth, parent } = task;
        let frame = |frames: &[u32], stack: &Stack| frames[stack.start + depth as usize];
        let Some(first) = self.stacks.get(stacks.start).map(|stack| frame(&self.frames, stack)) else {
            return;
        };
        if !self.stacks[stacks.clone()].iter().all(|stack| frame(&self.frames, stack) == first) {
            keys.clear();
            keys.extend(self.stacks[stacks.clone()].iter().map(|stack| (frame(&self.frames, stack), *stack)));
            keys.sort_unstable_by_key(|key| key.0);
            let at = tasks.len();
            let mut start = stacks.start;
            for run in keys.chunk_by(|a, b| a.0 == b.0) {
                let end = start + run.len();
                self.stacks[start..end].iter_mut().zip(run).for_each(|(to, key)| *to = key.1);
                tasks.push(Task { stacks: start..end, depth, parent });
                start = end;
            }
            return tasks[at..].reverse();
        }
        // Stacks that end here come first.
        let number = tree.push(parent, first);
        let mut below = stacks.start;
        for n in stacks.clone() {
            if self.stacks[n].len == depth + 1 {
                tree.count(number, self.stacks[n].samples);
                self.stacks.swap(below, n);
                below += 1;
            }
        }
        if below < stacks.end {
            tasks.push(Task { stacks: below..stacks.end, depth: depth + 1, parent: Some(number) });
        }
    }

    /// The rest of a stack that no other is like.
    fn chain(&self, stack: Stack, task: &Task, tree: &mut Tree) {
        let mut parent = task.parent;
        for depth in task.depth..stack.len {
            parent = Some(tree.push(parent, self.frames[stack.start + depth as usize]));
        }
        if let Some(last) = parent {
            tree.count(last, stack.samples);
        }
    }
}

impl Tree {
    fn push(&mut self, parent: Option<u32>, frame: u32) -> u32 {
        self.nodes.push(Node { parent, frame, samples: 0 });
        self.nodes.len() as u32 - 1
    }

    fn count(&mut self, node: u32, samples: u64) {
        let own = &mut self.nodes[node as usize].samples;
        *own = own.saturating_add(samples);
        self.samples = self.samples.saturating_add(samples);
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
            let roots = tree.nodes.iter().zip(tree.sizes()).filter(|(node, _)| node.parent.is_none());
            prop_assert_eq!(roots.map(|(_, size)| size as usize).sum::<usize>(), tree.nodes.len());
            let mut calls: Vec<_> = tree.nodes.iter().map(|n| (n.parent, n.frame)).collect();
            calls.sort_unstable();
            calls.dedup();
            prop_assert_eq!(calls.len(), tree.nodes.len(), "no call is there twice");
        }
    }

    #[test]
    fn trees_that_can_not_be_are_refused() {
        let node = |parent, frame, samples| Node { parent, frame, samples };
        assert!(Tree::of(vec![node(Some(0), 0, 1)], 1).is_none(), "its own parent");
        assert!(Tree::of(vec![node(None, 1, 1)], 1).is_none(), "no such frame");
        assert!(Tree::of(vec![node(None, 0, u64::MAX), node(None, 0, 1)], 1).is_none(), "too many samples");
        assert!(Tree::of(vec![node(None, 0, u64::MAX), node(None, 0, 0)], 1).is_some());
        assert!(
            Tree::of(vec![node(None, 0, 1), node(None, 0, 1), node(Some(0), 0, 1)], 1).is_none(),
            "not depth first"
        );
    }
}
