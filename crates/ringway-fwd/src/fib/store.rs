//! Lookup forms in memory: made aside, then published all at once, and cleared away when no reader can see them any more.
//!
//! A change is made in two parts. The first one writes new nodes and buckets where no reader comes and notes what is to be stored
//! where readers do; it may fail for want of room, and then [`abort`](Store::abort) leaves no trace. The second one,
//! [`commit`](Store::commit), does the stores and can't fail.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::epoch::Epochs;
use super::error::Part;
use super::form::{
    BUCKET, BUCKET_WORDS, HANDLE, Runs, bucket_handle, bucket_parts, node_head, node_leaves, ones, run_starts,
};
use super::memory::{Memory, NODE, ROOT};
use super::space::{Numbers, Words};
use super::{FibError, Limits, SLOTS, Usage};

/// What readers have left is looked for once so many pieces wait.
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct Store {
    pub(super) memory: Arc<Memory>,
    epochs: Arc<Epochs>,
    words: Words,
    /// Nodes that entries of a 16-bit root can name.
    tops: Numbers,
    nodes: Numbers,
    /// The leaf of each root entry.
    roots: Box<[u32]>,
    /// For roots that name nodes only: nodes of one run, by next hop.
    plain: HashMap<u16, Plain>,
    pub(super) plan: Plan,
    /// Out of sight since an epoch, but perhaps still looked at.
    retired: VecDeque<(u64, Piece)>,
    /// Nothing retired in this epoch or later may be used again, whatever the registered readers say.
    hold: Option<u64>,
    runs: Runs,
}

#[derive(Debug)]
struct Plain {
    node: u32,
    /// Root entries that name it.
    uses: u32,
}

#[derive(Debug, Clone, Copy)]
enum Piece {
    Node(u32),
    Words(u32, u32),
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
    /// An empty table in `memory`.
    pub(super) fn new(memory: Arc<Memory>, epochs: Arc<Epochs>, limits: Limits) -> Result<Self, FibError> {
        let named = memory.layout.root_entry == 2;
        let tops = if named { ROOT as u32 } else { 0 };
        let mut store = Self {
            memory,
            epochs,
            words: Words::new(limits.words),
            tops: Numbers::new(0, tops),
            nodes: Numbers::new(tops, tops + limits.nodes),
            roots: vec![0; ROOT].into(),
            plain: HashMap::new(),
            plan: Plan::default(),
            retired: VecDeque::new(),
            hold: None,
            runs: Runs::default(),
        };
        if named {
            let node = store.plain_node(0)?;
            store.memory.root16().iter().for_each(|entry| entry.store(node as u16, Relaxed));
            if let Some(plain) = store.plain.get_mut(&0) {
                plain.uses = ROOT as u32;
            }
        } else {
            store.memory.root32().iter().for_each(|entry| entry.store(0, Relaxed));
        }
        store.commit();
        Ok(store)
    }

    pub(super) fn usage(&self) -> Usage {
        let layout = &self.memory.layout;
        let nodes = self.tops.used() + self.nodes.used();
        let (root, node_bytes, word_bytes) =
            (ROOT * layout.root_entry, nodes as usize * NODE * 8, self.words.used() as usize * 4);
        Usage {
            bytes: root + node_bytes + word_bytes,
            nodes,
            words: self.words.used(),
            spread: root
                + (self.tops.spread() + self.nodes.spread()) as usize * NODE * 8
                + self.words.spread() as usize * 4,
            waiting: self.retired.len(),
            size: layout.size,
        }
    }

    /// The leaf for 256 slots whose form was `old`, a node or the only value there is, and how many runs there are. `top`: the
    /// root will name it.
    pub(super) fn node(&mut self, old: u32, top: bool, slots: &[u32; SLOTS]) -> Result<(u32, u16), FibError> {
        let starts = run_starts(slots);
        let mut runs = std::mem::take(&mut self.runs);
        runs.set(slots, &starts);
        let len = runs.len() as u16;
        let leaf = self.node_of(old, top, slots, &starts, &mut runs);
        self.runs = runs;
        Ok((leaf?, len))
    }

    fn node_of(
        &mut self,
        old: u32,
        top: bool,
        slots: &[u32; SLOTS],
        starts: &[u64; 4],
        runs: &mut Runs,
    ) -> Result<u32, FibError> {
        if let Some(value) = runs.only() {
            self.forget(old);
            return Ok(value);
        }
        if let Some((first, width, stored)) = self.fitting_node(old, starts, runs) {
            runs.set(slots, &stored);
            runs.width = width;
            self.replace_leaves(first, runs);
            return Ok(old);
        }
        let node = self.make_node(top, starts, runs)?;
        self.forget(old);
        Ok(HANDLE | node)
    }

    /// Replaces a handle in the leaves of a node: it is the only one of its kind, so it is a run of its own.
    pub(super) fn replace_handle(&mut self, node: u32, slot: u8, handle: u32) {
        let words = &self.memory.nodes()[(node & !HANDLE) as usize * NODE..][..NODE];
        let (_, first) = node_leaves(words[0].load(Relaxed));
        let starts: [u64; 4] = std::array::from_fn(|k| words[k + 1].load(Relaxed));
        let run = ones(starts).take_while(|at| *at <= usize::from(slot)).count() as u32;
        self.plan.words.push((first + run, handle));
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
        let first = self.take_words(key_words + runs.words())?;
        if first >= BUCKET_WORDS {
            return Err(FibError::Full { part: Part::Buckets, limit: BUCKET_WORDS });
        }
        for (at, word) in (first as usize..).zip(packed_keys(keys).chain(runs.packed())) {
            self.memory.words()[at].store(word, Relaxed);
        }
        self.forget(old);
        Ok(bucket_handle(first, keys.len(), runs.width))
    }

    /// A form is not used any more once the change is published.
    pub(super) fn forget(&mut self, handle: u32) {
        if handle & HANDLE == 0 {
            return;
        }
        if handle & BUCKET != 0 {
            let (width, keys, first) = bucket_parts(handle);
            let len = keys.div_ceil(2) + ((keys + 1) << width).div_ceil(4);
            self.plan.gone.push(Piece::Words(first as u32, len as u32));
        } else {
            self.forget_node(handle & !HANDLE);
        }
    }

    /// The root entry is to lead to a leaf.
    pub(super) fn root(&mut self, top: u16, leaf: u32) -> Result<(), FibError> {
        if self.tops.count() > 0 && leaf & HANDLE == 0 {
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
            if self.plain.get(&nh).is_some_and(|p| p.uses == 0) {
                self.plain.remove(&nh);
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
        if self.tops.count() == 0 {
            self.memory.root32()[at].store(leaf, Release);
            return;
        }
        let mut node = leaf & !HANDLE;
        if leaf & HANDLE == 0
            && let Some(plain) = self.plain.get_mut(&(leaf as u16))
        {
            plain.uses += 1;
            node = plain.node;
        }
        self.memory.root16()[at].store(node as u16, Release);
        if old & HANDLE == 0
            && let Some(before) = self.plain.get_mut(&(old as u16))
        {
            before.uses -= 1;
            plain.push(old as u16);
        }
    }

    /// Forgets nodes of one run that no root entry names.
    fn drop_plain(&mut self, next_hops: &mut Vec<u16>) {
        for nh in next_hops.drain(..) {
            let Some(node) = self.plain.get(&nh).filter(|p| p.uses == 0).map(|p| p.node) else { continue };
            self.plain.remove(&nh);
            self.forget_node(node);
        }
    }

    /// The node of one run for a next hop.
    fn plain_node(&mut self, next_hop: u16) -> Result<u32, FibError> {
        if let Some(plain) = self.plain.get(&next_hop) {
            return Ok(plain.node);
        }
        let mut runs = Runs::default();
        runs.push(u32::from(next_hop));
        let node = self.make_node(true, &[0; 4], &runs)?;
        self.plain.insert(next_hop, Plain { node, uses: 0 });
        self.plan.plain.push(next_hop);
        Ok(node)
    }

    /// First word and width of the leaves of `old` and the slots at which its runs start, if that is a node whose runs can have
    /// the wanted leaves.
    fn fitting_node(&self, old: u32, starts: &[u64; 4], runs: &Runs) -> Option<(usize, u32, [u64; 4])> {
        if old & (HANDLE | BUCKET) != HANDLE {
            return None;
        }
        let node = &self.memory.nodes()[(old & !HANDLE) as usize * NODE..][..NODE];
        let stored: [u64; 4] = std::array::from_fn(|k| node[k + 1].load(Relaxed));
        let (width, first) = node_leaves(node[0].load(Relaxed));
        let count = 1 + stored.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        let inside = stored.iter().zip(starts).all(|(stored, wanted)| wanted & !stored == 0);
        (inside && runs.fit(count, width)).then_some((first as usize, width, stored))
    }

    /// Stores the leaves in place if `old` is a bucket that has all keys, and perhaps more.
    fn replace_in_bucket(&mut self, old: u32, keys: &[u16], runs: &Runs) -> bool {
        if old & (HANDLE | BUCKET) != HANDLE | BUCKET {
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

    fn make_node(&mut self, top: bool, starts: &[u64; 4], runs: &Runs) -> Result<u32, FibError> {
        let first = self.take_words(runs.words())?;
        let number = self.take_number(top)?;
        for (at, word) in (first as usize..).zip(runs.packed()) {
            self.memory.words()[at].store(word, Relaxed);
        }
        let node = &self.memory.nodes()[number as usize * NODE..][..NODE];
        node[0].store(node_head(first, runs.width, starts), Relaxed);
        node[1..].iter().zip(starts).for_each(|(word, bits)| word.store(*bits, Relaxed));
        Ok(number)
    }

    fn forget_node(&mut self, number: u32) {
        let node = &self.memory.nodes()[number as usize * NODE..][..NODE];
        let runs = 1 + node[1..].iter().map(|w| w.load(Relaxed).count_ones()).sum::<u32>();
        let (width, first) = node_leaves(node[0].load(Relaxed));
        self.plan.gone.push(Piece::Words(first, (runs << width).div_ceil(4)));
        self.plan.gone.push(Piece::Node(number));
    }

    fn take_words(&mut self, len: usize) -> Result<u32, FibError> {
        let first = self.words.take(len).or_else(|| {
            self.collect();
            self.words.take(len)
        });
        let first =
            first.ok_or(FibError::Full { part: Part::Words, limit: self.memory.layout.words as u32 })?;
        self.plan.taken.push(Piece::Words(first, len as u32));
        Ok(first)
    }

    fn take_number(&mut self, top: bool) -> Result<u32, FibError> {
        let top = top && self.tops.count() > 0;
        let part = if top { Part::TopNodes } else { Part::Nodes };
        let mut number = self.numbers(top).take();
        if number.is_none() {
            self.collect();
            number = self.numbers(top).take();
        }
        let number = number.ok_or(FibError::Full { part, limit: self.numbers(top).count() })?;
        self.plan.taken.push(Piece::Node(number));
        Ok(number)
    }

    fn numbers(&mut self, top: bool) -> &mut Numbers {
        if top { &mut self.tops } else { &mut self.nodes }
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
        match piece {
            Piece::Node(number) => {
                let top = self.tops.holds(number);
                self.numbers(top).give(number);
            }
            Piece::Words(at, len) => self.words.give(at, len as usize),
        }
    }
}

/// Two keys in a word; the last one may be alone.
fn packed_keys(keys: &[u16]) -> impl Iterator<Item = u32> {
    keys.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16)
}
