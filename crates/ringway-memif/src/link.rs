//! What two sides of a connection share while the link is up.

use std::sync::Arc;

use ringway_sys::foreign_bell::ForeignBell;
use ringway_sys::mmap::Mmap;

use crate::ring::{Descriptor, Ring};

/// Which end of a connection this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It listens, and maps memory of the client.
    Server,
    /// It connects, and makes the memory.
    Client,
}

/// The buffers that a client made for one ring: slot `i` has the bytes at `base + i * stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Their region.
    pub region: u16,
    /// Where the first one begins.
    pub base: usize,
    /// From one to the next.
    pub stride: usize,
    /// Bytes of each.
    pub size: u32,
}

impl Buffers {
    /// The empty buffer of a slot.
    #[inline]
    #[must_use]
    pub fn of_slot(&self, slot: u16) -> Descriptor {
        let offset = (self.base + usize::from(slot) * self.stride) as u32;
        Descriptor { more: false, region: self.region, len: self.size, offset }
    }
}

/// One ring of a link.
#[derive(Debug, Clone)]
pub struct LinkRing {
    /// Its words.
    pub ring: Ring,
    /// Wakes its receiver.
    pub bell: Arc<ForeignBell>,
    /// The buffers of a client that copies.
    pub buffers: Option<Buffers>,
}

impl LinkRing {
    /// Frames that a sender published for this end and that nobody took, when this end never took any.
    #[must_use]
    pub fn published_frames(&self, role: Role) -> u64 {
        let counter = if role == Role::Client { self.ring.tail() } else { self.ring.head() };
        let all = self.ring.descriptors();
        (0..counter.min(self.ring.size())).filter(|&at| !all.read_len(at).1).count() as u64
    }
}

/// A connection whose link is up.
#[derive(Debug)]
pub struct Link {
    /// Which end this is.
    pub role: Role,
    /// The regions, by their numbers.
    pub regions: Vec<Arc<Mmap>>,
    /// Rings from the client to the server.
    pub c2s: Vec<LinkRing>,
    /// Rings from the server to the client.
    pub s2c: Vec<LinkRing>,
    /// What the peer calls itself.
    pub peer: String,
}

impl Link {
    /// The ring that this end sends on.
    #[must_use]
    pub fn tx(&self, index: usize) -> Option<&LinkRing> {
        if self.role == Role::Client { self.c2s.get(index) } else { self.s2c.get(index) }
    }

    /// The ring that this end receives on.
    #[must_use]
    pub fn rx(&self, index: usize) -> Option<&LinkRing> {
        if self.role == Role::Client { self.s2c.get(index) } else { self.c2s.get(index) }
    }

    /// The memory in which `len` bytes at the descriptor's offset lie; `None` when they lie outside.
    #[inline]
    #[must_use]
    pub fn memory(&self, d: Descriptor, len: u32) -> Option<&Mmap> {
        let region = self.regions.get(usize::from(d.region))?;
        (u64::from(d.offset) + u64::from(len) <= region.bytes() as u64).then_some(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_outside_are_nowhere() {
        let regions = vec![Arc::new(Mmap::anonymous(4096).unwrap())];
        let link = Link { role: Role::Server, regions, c2s: vec![], s2c: vec![], peer: String::new() };
        let there = |region, offset, len| {
            link.memory(Descriptor { more: false, region, len: 0, offset }, len).is_some()
        };
        assert!(there(0, 0, 4096) && there(0, 4096, 0) && there(0, 4095, 1));
        assert!(!there(0, 1, 4096) && !there(1, 0, 1) && !there(0, u32::MAX, u32::MAX) && !there(0, 4096, 1));
        assert!(link.tx(0).is_none() && link.rx(0).is_none());
    }

    #[test]
    fn each_slot_has_its_own_bytes() {
        let buffers = Buffers { region: 1, base: 64, stride: 2112, size: 2048 };
        let d = buffers.of_slot(3);
        assert_eq!((d.region, d.offset, d.len, d.more), (1, 64 + 3 * 2112, 2048, false));
    }
}
