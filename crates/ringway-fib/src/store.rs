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
use super::form::{
    BUCKET_UNITS, HANDLE, HEAD, Runs, UNIT, bucket_handle, bucket_parts, form_words, is_bucket, is_node,
    node_handle, node_head, node_parts, node_starts, ones, run_starts,
};
use super::memory::{Memory, ROOT};
use super::space::Units;
use super::{FibError, Limits, SLOTS, Usage};

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
    roots: Box<[u32]>,
    /// For roots that name nodes only: nodes of one run, by next hop.
    plain: Option<HashMap<u16, Plain>>,
    pub(super) plan: Plan,
    /// Out of sight since an epoch, but perhaps still looked at.
    retired: VecDeque<(u64, Piece)>,
    /// Nothing retired in this epoch or later may be used again, whatever the registered readers say.
    hold: Option<u64>,
    runs: Runs,
}

#[derive(Debug)]
struct Plain {
    /// The handle of the node.
    node: u32,
    /// Root entries that name it.
    uses: u32,
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
    plain: Vec<u16>,
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

    fn store_root(&mut self, top: u16, leaf: u32, plain: &mut Vec<u16>) {
        let at = usize::from(top);
        let old = std::mem::replace(&mut self.roots[at], leaf);
        if old == leaf {
            return;
        }
        let entry = match self.plain_of(leaf as u16) {
            Some(plain) if leaf & HANDLE == 0 => {
                plain.uses += 1;
                plain.node
            }
            _ => leaf,
        };
        self.memory.root()[at].store(entry, Release);
        if old & HANDLE == 0
            && let Some(before) = self.plain_of(old as u16)
        {
            before.uses -= 1;
            plain.push(old as u16);
        }
    }

    /// Forgets nodes of one run that no root entry names.
    fn drop_plain(&mut self, next_hops: &mut Vec<u16>) {
        for nh in next_hops.drain(..) {
            let Some(node) = self.plain_of(nh).filter(|p| p.uses == 0).map(|p| p.node) else { continue };
            self.remove_plain(nh);
            self.forget(node);
        }
    }

    fn plain_of(&mut self, next_hop: u16) -> Option<&mut Plain> {
        self.plain.as_mut()?.get_mut(&next_hop)
    }

    fn remove_plain(&mut self, next_hop: u16) {
        if let Some(all) = &mut self.plain {
            all.remove(&next_hop);
        }
    }

    /// The handle of the node of one run for a next hop.
    fn plain_node(&mut self, next_hop: u16) -> Result<u32, FibError> {
        if let Some(plain) = self.plain_of(next_hop) {
            return Ok(plain.node);
        }
        let mut runs = Runs::default();
        runs.push(u32::from(next_hop));
        let node = self.make_node([0; 4], &runs)?;
        if let Some(all) = &mut self.plain {
            all.insert(next_hop, Plain { node, uses: 0 });
        }
        self.plan.plain.push(next_hop);
        Ok(node)
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

    fn make_node(&mut self, starts: [u64; 4], runs: &Runs) -> Result<u32, FibError> {
        let unit = self.take(HEAD + runs.words(), true)?;
        self.write(unit, node_head(starts).chain(runs.packed()));
        Ok(node_handle(unit, runs.width))
    }

    /// Writes where no reader comes yet.
    fn write(&self, unit: u32, form: impl Iterator<Item = u32>) {
        for (word, value) in self.memory.words()[unit as usize * UNIT..].iter().zip(form) {
            word.store(value, Relaxed);
        }
    }

    /// The first unit of so many words.
    fn take(&mut self, words: usize, is_node: bool) -> Result<u32, FibError> {
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

/// Two keys in a word; the last one may be alone.
fn packed_keys(keys: &[u16]) -> impl Iterator<Item = u32> {
    keys.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16)
}
