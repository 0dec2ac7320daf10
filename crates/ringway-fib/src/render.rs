//! From routes to lookup forms: forms are made again where routes changed, and taken as they are elsewhere.
//!
//! A **step** is 16 bits behind the bits of the root or of another step. It is a block (the upper one) and the blocks right below it (the
//! lower ones), whose children are the upper blocks of the next steps. It becomes a node for each block, or one bucket.

use super::amend::Part;
use super::block::{Child, Form, Span, UNKNOWN};
use super::form::{HANDLE, KEYS, Runs, is_bucket, is_node, ones, run_starts};
use super::notes::Notes;
use super::routes::{NONE, Routes};
use super::store::Store;
use super::{FibError, SLOTS};

/// Runs beyond the room of a bucket from which on nodes are not tried to be put into one again.
const SLACK: usize = 8;

/// Slots that are looked at one by one at most, to amend a form.
const NARROW: u16 = 32;

/// Times that a form is amended before a new one is made, so that few of its runs are needless.
const AMENDED: u8 = 16;

/// Brings the lookup forms up to date with the routes.
#[derive(Debug)]
pub(super) struct Renderer<'a> {
    pub(super) routes: &'a mut Routes,
    pub(super) store: &'a mut Store,
    /// Whether 16 bits in few runs become a bucket.
    pub(super) buckets: bool,
    pub(super) notes: &'a mut Notes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Upper,
    Lower,
}

type Slots = [u32; SLOTS];

impl Renderer<'_> {
    /// Publishes all that changed in the routes, or nothing.
    pub(super) fn publish(mut self) -> Result<(), FibError> {
        while let Some(top) = self.routes.next_changed() {
            if let Err(e) = self.root(top) {
                self.store.abort();
                self.put_back();
                return Err(e);
            }
        }
        self.store.commit();
        self.clear_away();
        Ok(())
    }

    fn root(&mut self, top: u16) -> Result<(), FibError> {
        let (id, cover) = (self.routes.top(top), self.routes.cover(top));
        let leaf = if id == NONE {
            u32::from(cover)
        } else if self.is_hollow(id) {
            self.forget_below(id);
            self.notes.hollow_tops.push(top);
            u32::from(cover)
        } else {
            self.step(id, cover)?
        };
        self.store.root(top, leaf)
    }

    /// The leaf for a step.
    fn step(&mut self, id: u32, default: u16) -> Result<u32, FibError> {
        if self.amend_bucket(id, default) {
            return Ok(self.routes.block(id).form.leaf);
        }
        if self.buckets && self.may_fit(id) {
            let mut runs = Runs::default();
            let mut keys = Vec::with_capacity(KEYS + 1);
            if self.gather(id, default, &mut runs, &mut keys)? {
                return self.bucket(id, default, &keys, &runs);
            }
        }
        self.node(id, default, Half::Upper)
    }

    /// Whether it makes sense to count runs: by what they were when they were counted last.
    fn may_fit(&self, id: u32) -> bool {
        let block = self.routes.block(id);
        if !is_node(block.form.leaf) {
            return block.children().len() <= KEYS;
        }
        if usize::from(block.form.runs) + block.children().len() > KEYS + SLACK {
            return false;
        }
        let runs = |c: &Child| usize::from(self.routes.block(c.block).form.runs).saturating_sub(1);
        usize::from(block.form.runs) + block.children().iter().map(runs).sum::<usize>() <= KEYS + SLACK
    }

    /// Collects the runs of a step; false: there are too many for a bucket.
    fn gather(
        &mut self,
        id: u32,
        default: u16,
        runs: &mut Runs,
        keys: &mut Vec<u16>,
    ) -> Result<bool, FibError> {
        let mut put = |at: usize, value: u32| {
            if runs.last() != Some(value) {
                if at > 0 {
                    keys.push(at as u16);
                }
                runs.push(value);
            }
            keys.len() <= KEYS
        };
        let mut upper = [0; SLOTS];
        self.routes.block(id).paint(default, &mut upper);
        let children = self.routes.block(id).children().to_vec();
        let mut defaults = Vec::with_capacity(children.len());
        for child in &children {
            let slot = &mut upper[usize::from(child.slot)];
            defaults.push(std::mem::replace(slot, HANDLE | child.block) as u16);
        }
        let mut below = children.iter().zip(defaults);
        for slot in [0].into_iter().chain(ones(run_starts(&upper))) {
            if upper[slot] & HANDLE == 0 {
                if !put(slot << 8, upper[slot]) {
                    return Ok(false);
                }
                continue;
            }
            let Some((child, default)) = below.next() else { break };
            let mut lower = [u32::from(default); SLOTS];
            if !self.drop_if_hollow(id, child.block) {
                self.fill(child.block, default, Half::Lower, &mut lower)?;
            }
            let mut starts = [0].into_iter().chain(ones(run_starts(&lower)));
            if !starts.all(|k| put(slot << 8 | k, lower[k])) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bucket(&mut self, id: u32, default: u16, keys: &[u16], runs: &Runs) -> Result<u32, FibError> {
        self.untouch(id);
        for child in self.routes.block(id).children().to_vec() {
            let runs = self.routes.block(child.block).form.runs;
            self.forget(child.block, Form { runs, ..Form::default() });
            self.note_child(id, child, UNKNOWN, 0);
        }
        let old = self.take_over(id, is_bucket);
        let leaf = self.store.bucket(old, keys, runs)?;
        self.note(id, Form { leaf, runs: runs.len() as u16, default, amended: 0 });
        Ok(leaf)
    }

    /// The leaf for a block with a node of its own.
    fn node(&mut self, id: u32, default: u16, half: Half) -> Result<u32, FibError> {
        let block = self.routes.block(id);
        let form = block.form;
        if is_node(form.leaf) && form.default == default {
            let enough = if block.dirty.is_empty() { self.patch(id, half)? } else { self.amend_node(id) };
            if enough {
                return Ok(form.leaf);
            }
        }
        let mut slots = [0; SLOTS];
        self.fill(id, default, half, &mut slots)?;
        let old = self.take_over(id, |leaf| !is_bucket(leaf));
        let (leaf, runs) = self.store.node(old, &slots)?;
        self.note(id, Form { leaf, runs, default, amended: 0 });
        Ok(leaf)
    }

    /// Amends the node of a block whose routes changed in a few slots.
    fn amend_node(&mut self, id: u32) -> bool {
        let block = self.routes.block(id);
        let form = block.form;
        if block.is_touched() || !self.find_parts(id, form.default, 0, 0) || !self.amend(form) {
            return false;
        }
        self.note(id, Form { amended: form.amended + 1, ..form });
        true
    }

    /// Amends the bucket of a step in which routes of one block changed, in a few slots.
    fn amend_bucket(&mut self, id: u32, default: u16) -> bool {
        let block = self.routes.block(id);
        let form = block.form;
        if !is_bucket(form.leaf) || form.default != default {
            return false;
        }
        let (lower, found) = match block.only_touched() {
            Some(&Child { slot, block: lower, .. }) => {
                let default = block.longest(default, slot);
                let found = !self.is_hollow(lower) && !self.routes.block(lower).is_touched();
                (Some(lower), found && self.find_parts(lower, default, slot.into(), 0))
            }
            None => (None, !block.is_touched() && self.find_parts(id, default, 0, 8)),
        };
        if !found || !self.amend(form) {
            return false;
        }
        self.untouch(id);
        if let Some(lower) = lower {
            self.note(lower, self.routes.block(lower).form);
        }
        self.note(id, Form { amended: form.amended + 1, ..form });
        true
    }

    /// Finds what the slots that changed lead to; false: they are many, or longer prefixes are below one. `before` is what the
    /// block's bits stand behind, each of them is 2^`bits` values.
    fn find_parts(&mut self, id: u32, default: u16, before: u32, bits: u32) -> bool {
        let block = self.routes.block(id);
        let span = block.dirty;
        if span.len() > NARROW || block.has_child_in(span) {
            return false;
        }
        self.notes.parts.clear();
        for slot in span.from..span.to {
            let next_hop = u32::from(block.longest(default, slot as u8));
            let from = before << 8 | u32::from(slot) << bits;
            self.notes.parts.push(Part { from, to: from + (1 << bits), next_hop });
        }
        true
    }

    fn amend(&mut self, form: Form) -> bool {
        form.amended < AMENDED && self.store.amend(form.leaf, &self.notes.parts)
    }

    /// Brings the children that changed up to date; true if the block's node needs no more than other handles for them.
    fn patch(&mut self, id: u32, half: Half) -> Result<bool, FibError> {
        let mut enough = true;
        for child in self.untouch(id) {
            let old = child.leaf;
            // What a child without a leaf inherits is not known here: `fill` tells. A form must not be made twice for one
            // publication, as the second time would not see what the first one is to store.
            let known = old != UNKNOWN && !self.drop_if_hollow(id, child.block);
            let new = if known { self.below(child.block, child.default, half)? } else { UNKNOWN };
            if known && new == old {
                continue;
            }
            self.note_child(id, child, new, child.default);
            if known && old & new & HANDLE != 0 {
                let node = self.routes.block(id).form.leaf;
                self.store.replace_handle(node, child.slot, new);
            } else {
                self.routes.block_mut(id).dirty = Span::ALL;
                enough = false;
            }
        }
        Ok(enough)
    }

    /// The leaves of a block's slots.
    fn fill(&mut self, id: u32, default: u16, half: Half, slots: &mut Slots) -> Result<(), FibError> {
        self.routes.block(id).paint(default, slots);
        for child in self.untouch(id) {
            self.note_child(id, child, UNKNOWN, child.default);
        }
        for at in 0..self.routes.block(id).children().len() {
            let child = self.routes.block(id).children()[at];
            let value = &mut slots[usize::from(child.slot)];
            let default = *value as u16;
            if child.leaf != UNKNOWN && child.default == default {
                *value = child.leaf;
                continue;
            }
            self.routes.block_mut(id).dirty = Span::ALL; // until it has its form
            if !self.drop_if_hollow(id, child.block) {
                *value = self.below(child.block, default, half)?;
                self.note_child(id, child, *value, default);
            }
        }
        Ok(())
    }

    fn below(&mut self, id: u32, default: u16, half: Half) -> Result<u32, FibError> {
        match half {
            Half::Upper => self.node(id, default, Half::Lower),
            Half::Lower => self.step(id, default),
        }
    }
}
