//! The interfaces that are to be members of a router, recorded before they are.
//!
//! Attaching them takes time, and some are away for a while. A process that goes on after one that died reads here which are missing.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::layout::{MEMBERS, info as at};
use crate::sys::Mapping;

/// Bytes of a name, with a 0 at least.
const NAME: usize = 16;

/// The interfaces that a router was made for or was given later: members, and interfaces that become members when they can.
#[derive(Debug, Clone, Copy)]
pub struct IntendedMembers<'a>(pub(super) &'a Mapping);

impl IntendedMembers<'_> {
    /// Records what a router is made for. Names that no interface can have are left out, and names beyond the last member.
    pub(super) fn set(self, names: &[String]) {
        let fit = names.iter().filter(|name| name.len() < NAME).take(MEMBERS);
        let count = fit.enumerate().map(|(i, name)| self.write(i, name)).count();
        self.0.u32(at::WANTED).store(count as u32, Release);
        self.0.u32(at::DONE).store(names.is_empty().into(), Release);
    }

    /// Their names.
    #[must_use]
    pub fn names(self) -> Vec<String> {
        (0..self.places()).map(|i| self.read(i)).filter(|name| !name.is_empty()).collect()
    }

    /// Whether all interfaces that the router was made for are members, but for interfaces that can't be. If not, a process began to make it
    /// and did not end.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.0.u32(at::DONE).load(Acquire) != 0
    }

    /// The router has its members.
    pub fn mark_complete(self) {
        self.0.u32(at::DONE).store(1, Release);
    }

    /// Records an interface, before it is made a member. Returns whether it is new.
    pub fn intend(self, interface: &str) -> bool {
        let (count, free) = (self.places(), |i: &usize| self.read(*i).is_empty());
        let place = (0..count).find(free).unwrap_or(count);
        if place == MEMBERS || interface.len() >= NAME || self.names().iter().any(|name| name == interface) {
            return false;
        }
        self.write(place, interface);
        self.0.u32(at::WANTED).store(count.max(place + 1) as u32, Release);
        true
    }

    /// The interface is not to be a member any more, whatever the router was made for.
    pub fn cancel(self, interface: &str) {
        (0..self.places()).filter(|i| self.read(*i) == interface).for_each(|i| self.write(i, ""));
    }

    fn places(self) -> usize {
        MEMBERS.min(self.0.u32(at::WANTED).load(Acquire) as usize)
    }

    fn write(self, i: usize, name: &str) {
        let mut bytes = [0; NAME];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        for (k, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            self.0.u64(at::NAMES + NAME * i + 8 * k).store(u64::from_ne_bytes(*word), Relaxed);
        }
    }

    fn read(self, i: usize) -> String {
        let words =
            (0..NAME / 8).flat_map(|k| self.0.u64(at::NAMES + NAME * i + 8 * k).load(Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = words.take_while(|b| *b != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
