//! From routes to lookup forms: what changed is made anew, the rest is taken as it is.

use super::form::{BUCKET, HANDLE, KEYS, Runs};
use super::memory::ROOT;
use super::routes::{NONE, Routes};
use super::store::Store;
use super::{FibError, SLOTS};

/// Runs beyond the room of a bucket from which on nodes are not tried to be put into one again.
const SLACK: usize = 8;

/// Brings the lookup forms up to date with the routes.
#[derive(Debug)]
pub(super) struct Renderer<'a> {
    routes: &'a mut Routes,
    store: &'a mut Store,
    /// Whether 16 bits in few runs become a bucket.
    buckets: bool,
    /// How blocks were before.
    undo: Vec<(u32, Form)>,
    /// Empty blocks, with the one above each.
    empty: Vec<(u32, u32)>,
    empty_tops: Vec<u16>,
}

/// What a block remembers of its form.
#[derive(Debug, Clone, Copy, Default)]
struct Form {
    handle: u32,
    runs: u16,
    default: u16,
}

type Slots = [u32; SLOTS];

impl<'a> Renderer<'a> {
    pub(super) fn new(routes: &'a mut Routes, store: &'a mut Store, buckets: bool) -> Self {
        Self { routes, store, buckets, undo: Vec::new(), empty: Vec::new(), empty_tops: Vec::new() }
    }

    /// Publishes all that changed in the routes, or nothing.
    pub(super) fn publish(mut self) -> Result<(), FibError> {
        let changed = self.routes.take_changed();
        match changed.into_iter().try_for_each(|top| self.root(top)) {
            Ok(()) => {
                self.store.commit();
                self.clear_away();
                Ok(())
            }
            Err(e) => {
                self.store.abort();
                self.put_back();
                Err(e)
            }
        }
    }

    fn root(&mut self, top: u16) -> Result<(), FibError> {
        let (id, cover) = (self.routes.top(top), self.routes.cover(top));
        let leaf = if id == NONE {
            u32::from(cover)
        } else if self.is_hollow(id) {
            self.forget_below(id);
            self.empty_tops.push(top);
            u32::from(cover)
        } else {
            self.step(id, cover, true)?
        };
        self.store.root(top, leaf)
    }

    /// The leaf for the 16 bits that a block and those right below it decide.
    fn step(&mut self, id: u32, default: u16, top: bool) -> Result<u32, FibError> {
        let block = self.routes.block(id);
        if !block.dirty && block.default == default && block.handle & HANDLE != 0 {
            return Ok(block.handle);
        }
        if self.buckets && self.may_fit(id) {
            let mut runs = Runs::new();
            let mut keys = Vec::with_capacity(KEYS);
            if self.gather(id, default, &mut runs, &mut keys)? {
                return self.bucket(id, default, &keys, &runs);
            }
        }
        self.nodes(id, default, top)
    }

    /// Whether it makes sense to count runs: what they were when they were counted last.
    fn may_fit(&self, id: u32) -> bool {
        let block = self.routes.block(id);
        if block.handle & HANDLE == 0 || block.handle & BUCKET != 0 {
            return block.children().len() <= KEYS;
        }
        let below: usize =
            block.children().iter().map(|c| usize::from(self.routes.block(c.1).runs).saturating_sub(1)).sum();
        usize::from(block.runs) + below <= KEYS + SLACK
    }

    /// Collects the runs of 16 bits; false: there are too many for a bucket.
    fn gather(
        &mut self,
        id: u32,
        default: u16,
        runs: &mut Runs,
        keys: &mut Vec<u16>,
    ) -> Result<bool, FibError> {
        let upper = self.paint(id, default);
        let mut put = |at: usize, value: u32| {
            if runs.last() == Some(value) {
                return true;
            }
            if runs.len > 0 {
                keys.push(at as u16);
            }
            runs.push(value);
            keys.len() <= KEYS
        };
        for (slot, &value) in upper.iter().enumerate() {
            let fits = match self.child(id, slot as u8) {
                None => put(slot << 8, value),
                Some(child) => {
                    let lower = self.lower(child, value as u16)?;
                    lower.iter().enumerate().all(|(k, &v)| put(slot << 8 | k, v))
                }
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bucket(&mut self, id: u32, default: u16, keys: &[u16], runs: &Runs) -> Result<u32, FibError> {
        for (_, child) in self.routes.block(id).children().to_vec() {
            let runs = self.routes.block(child).runs;
            self.forget(child, Form { handle: 0, runs, default: 0 });
        }
        let old = self.take_over(id, |handle| handle & BUCKET != 0);
        let leaf = self.store.bucket(old, keys, runs)?;
        self.note(id, Form { handle: leaf, runs: runs.len as u16, default });
        Ok(leaf)
    }

    fn nodes(&mut self, id: u32, default: u16, top: bool) -> Result<u32, FibError> {
        let mut slots = self.paint(id, default);
        for (slot, child) in self.routes.block(id).children().to_vec() {
            if !self.drop_if_empty(id, child) {
                let value = &mut slots[usize::from(slot)];
                *value = self.lower_node(child, *value as u16)?;
            }
        }
        let old = self.take_over(id, |handle| handle & BUCKET == 0);
        let (leaf, runs) = self.store.node(old, top, &slots)?;
        self.note(id, Form { handle: leaf, runs, default });
        Ok(leaf)
    }

    fn lower_node(&mut self, id: u32, default: u16) -> Result<u32, FibError> {
        let block = self.routes.block(id);
        if !block.dirty && block.default == default && block.handle != 0 {
            return Ok(block.handle);
        }
        let old = block.handle;
        let slots = self.lower(id, default)?;
        let (leaf, runs) = self.store.node(old, false, &slots)?;
        self.note(id, Form { handle: leaf, runs, default });
        Ok(leaf)
    }

    /// The leaves of the second 8 bits of a step, those of the next steps among them.
    fn lower(&mut self, id: u32, default: u16) -> Result<Slots, FibError> {
        let mut slots = self.paint(id, default);
        for (slot, child) in self.routes.block(id).children().to_vec() {
            if !self.drop_if_empty(id, child) {
                let value = &mut slots[usize::from(slot)];
                *value = self.step(child, *value as u16, false)?;
            }
        }
        Ok(slots)
    }

    fn paint(&self, id: u32, default: u16) -> Slots {
        let mut slots = [0; SLOTS];
        self.routes.block(id).paint(default, &mut slots);
        slots
    }

    /// The block below a slot, unless there is nothing in it.
    fn child(&mut self, id: u32, slot: u8) -> Option<u32> {
        let child = self.routes.block(id).child(slot)?;
        (!self.drop_if_empty(id, child)).then_some(child)
    }

    fn drop_if_empty(&mut self, parent: u32, id: u32) -> bool {
        let empty = self.is_hollow(id);
        if empty {
            self.forget_below(id);
            self.empty.push((parent, id));
        }
        empty
    }

    /// No route in a block and in those below it.
    fn is_hollow(&self, id: u32) -> bool {
        let block = self.routes.block(id);
        block.has_no_route() && block.children().iter().all(|c| self.is_hollow(c.1))
    }

    fn forget_below(&mut self, id: u32) {
        self.forget(id, Form::default());
        for (_, child) in self.routes.block(id).children().to_vec() {
            self.forget_below(child);
        }
    }

    /// The form of a block if it is of the kind that is wanted; one of the other kind is not used any more.
    fn take_over(&mut self, id: u32, wanted: impl Fn(u32) -> bool) -> u32 {
        let handle = self.routes.block(id).handle;
        if wanted(handle) {
            return handle;
        }
        self.store.forget(handle);
        0
    }

    fn forget(&mut self, id: u32, form: Form) {
        self.store.forget(self.routes.block(id).handle);
        self.note(id, form);
    }

    fn note(&mut self, id: u32, form: Form) {
        let block = self.routes.block_mut(id);
        let before = Form { handle: block.handle, runs: block.runs, default: block.default };
        (block.handle, block.runs, block.default, block.dirty) =
            (form.handle, form.runs, form.default, false);
        self.undo.push((id, before));
    }

    fn put_back(&mut self) {
        for (id, before) in self.undo.drain(..).rev() {
            let block = self.routes.block_mut(id);
            (block.handle, block.runs, block.default, block.dirty) =
                (before.handle, before.runs, before.default, true);
        }
    }

    /// Removes empty blocks with those below them. None of them has a form.
    fn clear_away(&mut self) {
        for (parent, id) in std::mem::take(&mut self.empty) {
            if self.routes.block(parent).children().iter().any(|c| c.1 == id) {
                self.routes.remove(parent, id);
            }
        }
        for top in std::mem::take(&mut self.empty_tops) {
            if self.routes.top(top) != NONE {
                self.routes.remove_top(top);
            }
        }
    }
}

const _: () = assert!(ROOT == 1 << 16, "a step decides 16 bits, as the root does");
