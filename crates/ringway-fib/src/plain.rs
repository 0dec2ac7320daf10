//! Nodes of one run, which root entries share: one for each next hop.

use std::sync::atomic::Ordering::Release;

use super::FibError;
use super::form::{HANDLE, Runs};
use super::store::{Plain, Store};

impl Store {
    pub(super) fn store_root(&mut self, top: u16, leaf: u32, plain: &mut Vec<u16>) {
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
    pub(super) fn drop_plain(&mut self, next_hops: &mut Vec<u16>) {
        for nh in next_hops.drain(..) {
            let Some(node) = self.plain_of(nh).filter(|p| p.uses == 0).map(|p| p.node) else { continue };
            self.remove_plain(nh);
            self.forget(node);
        }
    }

    pub(super) fn plain_of(&mut self, next_hop: u16) -> Option<&mut Plain> {
        self.plain.as_mut()?.get_mut(&next_hop)
    }

    pub(super) fn remove_plain(&mut self, next_hop: u16) {
        if let Some(all) = &mut self.plain {
            all.remove(&next_hop);
        }
    }

    /// The handle of the node of one run for a next hop.
    pub(super) fn plain_node(&mut self, next_hop: u16) -> Result<u32, FibError> {
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
}
