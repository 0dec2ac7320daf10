//! Blocks before and after a publication: which changed, which are hollow, and how they were.

use super::block::{Child, Form, Span};
use super::render::Renderer;

impl Renderer<'_> {
    /// Children that changed; they count as looked after.
    pub(super) fn untouch(&mut self, id: u32) -> Vec<Child> {
        if !self.routes.block(id).is_touched() {
            return Vec::new();
        }
        let slots = self.routes.block_mut(id).take_touched();
        let block = self.routes.block(id);
        let children: Vec<Child> = slots.into_iter().filter_map(|slot| block.child(slot).copied()).collect();
        children.iter().for_each(|c| self.routes.block_mut(c.block).queued = false);
        children
    }

    pub(super) fn drop_if_hollow(&mut self, parent: u32, id: u32) -> bool {
        let hollow = self.is_hollow(id);
        if hollow {
            self.forget_below(id);
            self.notes.hollow.push((parent, id));
        }
        hollow
    }

    /// No route in a block and in those below it.
    pub(super) fn is_hollow(&self, id: u32) -> bool {
        let block = self.routes.block(id);
        block.has_no_route() && block.children().iter().all(|c| self.is_hollow(c.block))
    }

    pub(super) fn forget_below(&mut self, id: u32) {
        self.forget(id, Form::default());
        for child in self.routes.block(id).children().to_vec() {
            self.forget_below(child.block);
        }
    }

    /// The form of a block if it is of the kind that is wanted; one of the other kind is not used any more.
    pub(super) fn take_over(&mut self, id: u32, wanted: impl Fn(u32) -> bool) -> u32 {
        let leaf = self.routes.block(id).form.leaf;
        if wanted(leaf) {
            return leaf;
        }
        self.store.forget(leaf);
        0
    }

    pub(super) fn forget(&mut self, id: u32, form: Form) {
        self.store.forget(self.routes.block(id).form.leaf);
        self.note(id, form);
    }

    pub(super) fn note(&mut self, id: u32, form: Form) {
        let block = self.routes.block_mut(id);
        let before = std::mem::replace(&mut block.form, form);
        block.dirty = Span::default();
        self.notes.forms.push((id, before));
    }

    pub(super) fn note_child(&mut self, id: u32, child: Child, leaf: u32, default: u16) {
        if let Some(entry) = self.routes.block_mut(id).child_mut(child.slot) {
            let before = std::mem::replace(entry, Child { leaf, default, ..child });
            self.notes.children.push((id, before));
        }
    }

    /// Blocks are as they were, and are looked at again with the next change.
    pub(super) fn put_back(&mut self) {
        for (id, before) in self.notes.children.drain(..).rev() {
            if let Some(entry) = self.routes.block_mut(id).child_mut(before.slot) {
                *entry = before;
            }
            self.routes.block_mut(id).dirty = Span::ALL;
        }
        for (id, before) in self.notes.forms.drain(..).rev() {
            let block = self.routes.block_mut(id);
            (block.form, block.dirty) = (before, Span::ALL);
        }
        self.notes.hollow.clear();
        self.notes.hollow_tops.clear();
    }

    /// Removes blocks without routes and those below them. None of them has a form.
    pub(super) fn clear_away(&mut self) {
        self.notes.forms.clear();
        self.notes.children.clear();
        for (parent, id) in self.notes.hollow.drain(..) {
            if self.routes.block(parent).children().iter().any(|c| c.block == id) {
                self.routes.remove(parent, id);
            }
        }
        for top in self.notes.hollow_tops.drain(..) {
            self.routes.remove_top(top);
        }
    }
}
