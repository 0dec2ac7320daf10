//! The interfaces that a router is made for, noted before the first of them is a member. Attaching them takes its time: whoever goes on
//! after a process that was killed meanwhile reads which are missing.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Router;
use super::layout::{MEMBERS, info as at};
use crate::sys::Mapping;

/// Bytes of a name, with a 0 at least.
const NAME: usize = 16;

/// Notes names. Those that no interface can have are left out, and those that there is no member for.
pub(super) fn note(info: &Mapping, names: &[String]) {
    let fit = names.iter().filter(|name| name.len() < NAME).take(MEMBERS);
    let count = fit.enumerate().map(|(i, name)| write(info, i, name)).count();
    info.u32(at::WANTED).store(count as u32, Release);
}

impl Router {
    /// The interfaces that the router was made for, while not all of them that can be have become members: its making was begun, and is not
    /// done. `None` when it is.
    #[must_use]
    pub fn wanted(&self) -> Option<Vec<String>> {
        let count = self.noted();
        (count > 0).then(|| (0..count).map(|i| read(&self.info, i)).filter(|name| !name.is_empty()).collect())
    }

    /// All that were wanted are members, or can't be: the note is of no use any more.
    pub fn done(&self) {
        self.info.u32(at::WANTED).store(0, Release); // one store: there is all of the note, or nothing
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
