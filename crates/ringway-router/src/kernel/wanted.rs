//! The interfaces that are to be members of a router, noted before they are. Attaching them takes its time, and some are away for a
//! while: whoever goes on after a process that died reads which are missing.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Router;
use super::layout::{MEMBERS, info as at};
use crate::sys::Mapping;

/// Bytes of a name, with a 0 at least.
const NAME: usize = 16;

/// Notes what a router is made for. Names that no interface can have are left out, and those that there is no member for.
pub(super) fn note(info: &Mapping, names: &[String]) {
    let fit = names.iter().filter(|name| name.len() < NAME).take(MEMBERS);
    let count = fit.enumerate().map(|(i, name)| write(info, i, name)).count();
    info.u32(at::WANTED).store(count as u32, Release);
    info.u32(at::DONE).store(names.is_empty().into(), Release);
}

impl Router {
    /// The interfaces that the router was made for or that were wanted later: members, and what is to be one when it can.
    #[must_use]
    pub fn wanted(&self) -> Vec<String> {
        (0..self.noted()).map(|i| read(&self.info, i)).filter(|name| !name.is_empty()).collect()
    }

    /// Whether all interfaces that it was made for are members, but for those that can't be: else its making was begun, and is not done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.info.u32(at::DONE).load(Acquire) != 0
    }

    /// Its making is done.
    pub fn done(&self) {
        self.info.u32(at::DONE).store(1, Release);
    }

    /// An interface is to be a member, now or when it can. To be said before it is made one. Whether that is new.
    pub fn want(&self, interface: &str) -> bool {
        let (count, free) = (self.noted(), |i: &usize| read(&self.info, *i).is_empty());
        let place = (0..count).find(free).unwrap_or(count);
        if place == MEMBERS || interface.len() >= NAME || self.wanted().iter().any(|name| name == interface) {
            return false;
        }
        write(&self.info, place, interface);
        self.info.u32(at::WANTED).store(count.max(place + 1) as u32, Release);
        true
    }

    /// An interface is not to be a member any more, whatever the router was made for.
    pub fn unwant(&self, interface: &str) {
        (0..self.noted())
            .filter(|i| read(&self.info, *i) == interface)
            .for_each(|i| write(&self.info, i, ""));
    }

    fn noted(&self) -> usize {
        MEMBERS.min(self.info.u32(at::WANTED).load(Acquire) as usize)
    }
}

fn write(info: &Mapping, i: usize, name: &str) {
    let mut bytes = [0; NAME];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    for (k, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        info.u64(at::NAMES + NAME * i + 8 * k).store(u64::from_ne_bytes(*word), Relaxed);
    }
}

fn read(info: &Mapping, i: usize) -> String {
    let words =
        (0..NAME / 8).flat_map(|k| info.u64(at::NAMES + NAME * i + 8 * k).load(Relaxed).to_ne_bytes());
    let bytes: Vec<u8> = words.take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
