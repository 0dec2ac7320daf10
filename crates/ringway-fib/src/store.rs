//! Lookup forms in memory: made aside, then published all at once, and cleared away when no reader can see them any more.
//!
//! A change is made in two parts. The first one writes new nodes and buckets where no reader comes, and plans the stores
//! where readers do. It may fail for want of room; then [`abort`](Store::abort) leaves no trace. The second one,
//! [`commit`](Store::commit), does the stores and can't fail.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::epoch::Epochs;
use super::error::Part;
use super::form::{HANDLE, Runs, UNIT, bucket_parts, form_words, is_node, node_parts};
use super::memory::{Memory, ROOT};
use super::space::Units;
use super::{FibError, Limits, Usage};

/// What readers have left is looked for once so many pieces wait.
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct Store {
    pub(super) memory: Arc<Memory>,
    epochs: Arc<Epochs>,
    units: Units,
    /// Nodes in use, with the nodes that readers may still look at.
    nodes: u32,
    /// The leaf of each root entry.
    pub(super) roots: Box<[u32]>,
    /// For roots that name nodes only: nodes of one run, by next hop.
    pub(super) plain: Option<HashMap<u16, Plain>>,
    pub(super) plan: Plan,
    /// Out of sight since an epoch, but perhaps still looked at.
    retired: VecDeque<(u64, Piece)>,
    /// Nothing retired in this epoch or later may be used again, whatever the registered readers say.
    hold: Option<u64>,
    pub(super) runs: Runs,
}

#[derive(Debug)]
pub(super) struct Plain {
    /// The handle of the node.
    pub(super) node: u32,
    /// Root entries that name it.
    pub(super) uses: u32,
}

/// A node or bucket: its first unit, and how many it takes.
#[derive(Debug, Clone, Copy)]
struct Piece {
    unit: u32,
    len: u32,
    is_node: bool,
}

/// A change that is not published yet.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Words to store, each once.
    pub(super) words: Vec<(u32, u32)>,
    roots: Vec<(u16, u32)>,
    taken: Vec<Piece>,
    gone: Vec<Piece>,
    /// Next hops whose nodes of one run were made for this change, or may have lost their last use by it.
    pub(super) plain: Vec<u16>,
}

impl Store {
    /// An empty table in `memory`. `nodes_only`: root entries lead to nodes, never to a next hop.
    pub(super) fn new(
        memory: Arc<Memory>,
        epochs: Arc<Epochs>,
        limits: Limits,
        nodes_only: bool,
    ) -> Result<Self, FibError> {
        let mut store = Self {
            memory,
            epochs,
            units: Units::new(limits.words / UNIT as u32),
            nodes: 0,
            roots: vec![0; ROOT].into(),
            plain: nodes_only.then(HashMap::new),
            plan: Plan::default(),
            retired: VecDeque::new(),
            hold: None,
            runs: Runs::default(),
        };
        let nowhere = if nodes_only { store.plain_node(0)? } else { 0 };
        store.memory.root().iter().for_each(|entry| entry.store(nowhere, Relaxed));
        if let Some(plain) = store.plain_of(0) {
            plain.uses = ROOT as u32;
        }
        store.commit();
        Ok(store)
    }

    pub(super) fn usage(&self) -> Usage {
        let layout = &self.memory.layout;
        let bytes = |units: u32| layout.words_at + units as usize * UNIT * 4;
        Usage {
            bytes: bytes(self.units.used()),
            nodes: self.nodes,
            words: self.units.used() * UNIT as u32,
            spread: bytes(self.units.spread()),
            waiting: self.retired.len(),
            size: layout.size,
        }
    }

    /// A form is not used any more once the change is published.
    pub(super) fn forget(&mut self, handle: u32) {
        if handle & HANDLE == 0 {
            return;
        }
        let is_node = is_node(handle);
        let first = if is_node { node_parts(handle).1 } else { bucket_parts(handle).2 };
        let len = form_words(self.memory.words(), handle).div_ceil(UNIT) as u32;
        self.plan.gone.push(Piece { unit: (first / UNIT) as u32, len, is_node });
    }

    /// The root entry is to lead to a leaf.
    pub(super) fn root(&mut self, top: u16, leaf: u32) -> Result<(), FibError> {
        if self.plain.is_some() && leaf & HANDLE == 0 {
            self.plain_node(leaf as u16)?;
        }
        self.plan.roots.push((top, leaf));
        Ok(())
    }

    /// Publishes the change.
    pub(super) fn commit(&mut self) {
        let mut plan = std::mem::take(&mut self.plan);
        for (at, word) in plan.words.drain(..) {
            // Release: a leaf may be the handle of a node made just now.
            self.memory.words()[at as usize].store(word, Release);
        }
        for (top, leaf) in plan.roots.drain(..) {
            self.store_root(top, leaf, &mut plan.plain);
        }
        plan.taken.clear();
        self.drop_plain(&mut plan.plain);
        plan.gone.append(&mut self.plan.gone);
        self.plan = plan;
        self.retire();
    }

    /// Takes back what was made for the change.
    pub(super) fn abort(&mut self) {
        let mut plan = std::mem::take(&mut self.plan);
        for nh in plan.plain.drain(..) {
            if self.plain_of(nh).is_some_and(|p| p.uses == 0) {
                self.remove_plain(nh);
            }
        }
        plan.taken.drain(..).for_each(|piece| self.give(piece));
    }

    /// From now on nothing that goes out of sight is used again, until [`release`](Self::release) says so.
    pub(super) fn hold(&mut self) {
        self.hold = self.hold.or(Some(0));
    }

    /// A mark for what is out of sight by now.
    pub(super) fn mark(&self) -> u64 {
        self.epochs.advance()
    }

    /// Those who are not registered have left all that was out of sight at a mark.
    pub(super) fn release(&mut self, mark: u64) {
        self.hold = self.hold.map(|hold| hold.max(mark + 1));
        self.collect();
    }

    /// Writes where no reader comes yet.
    pub(super) fn write(&self, unit: u32, form: impl Iterator<Item = u32>) {
        for (word, value) in self.memory.words()[unit as usize * UNIT..].iter().zip(form) {
            word.store(value, Relaxed);
        }
    }

    /// The first unit of so many words.
    pub(super) fn take(&mut self, words: usize, is_node: bool) -> Result<u32, FibError> {
        let len = words.div_ceil(UNIT);
        let unit = self.units.take(len).or_else(|| {
            self.collect();
            self.units.take(len)
        });
        let unit =
            unit.ok_or(FibError::Full { part: Part::Words, limit: self.memory.layout.words as u32 })?;
        self.plan.taken.push(Piece { unit, len: len as u32, is_node });
        self.nodes += u32::from(is_node);
        Ok(unit)
    }

    /// What the change put out of sight waits for the readers.
    fn retire(&mut self) {
        if self.plan.gone.is_empty() {
            return;
        }
        let epoch = self.epochs.now();
        self.retired.extend(self.plan.gone.drain(..).map(|piece| (epoch, piece)));
        if self.retired.len() >= WAITING {
            self.collect();
        }
    }

    /// Takes back what no reader can see any more. Epochs are ended here only: each end costs the readers a cache miss.
    fn collect(&mut self) {
        self.epochs.advance();
        let bound = self.epochs.oldest().min(self.hold.unwrap_or(u64::MAX));
        let free = self.retired.partition_point(|(epoch, _)| *epoch < bound);
        for (_, piece) in self.retired.drain(..free).collect::<Vec<_>>() {
            self.give(piece);
        }
    }

    fn give(&mut self, piece: Piece) {
        self.nodes -= u32::from(piece.is_node);
        self.units.give(piece.unit, piece.len as usize);
    }
}
