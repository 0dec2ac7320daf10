//! The walk from an address to its next hop, and bursts without vectors of addresses: on any processor.
//!
//! It is all loads, shifts and masks, with one branch for each 16 bits: an eBPF program does the same on the same bytes.
//!
//! Addresses do not depend on each other, so a processor that runs ahead overlaps their loads, but it sees no more than some ten
//! addresses ahead. So what 16 addresses need is asked for before the 16 before them are looked at.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

use crate::form::{HANDLE, bucket_parts, is_bucket, keys_up_to, load, locate};
use crate::memory::{Forms, ROOT};

/// IPv4 addresses that are compared with each other before they are looked up: packets come in trains.
const TRAIN: usize = 16;

/// The walk from a root entry or a leaf on: how it is done differs between processors.
pub(super) trait Steps: Copy {
    /// The leaf of a slot of the node that a handle names.
    fn leaf(self, handle: u32, slot: u8) -> u32;

    /// The same, fastest where leaves have 32 bits: above longer prefixes.
    #[inline(always)]
    fn wide_leaf(self, handle: u32, slot: u8) -> u32 {
        self.leaf(handle, slot)
    }

    /// The same, fastest where leaves have 8 bits: where prefixes end.
    #[inline(always)]
    fn narrow_leaf(self, handle: u32, slot: u8) -> u32 {
        self.leaf(handle, slot)
    }

    /// The leaf for 16 bits that a bucket decides.
    fn bucket(self, handle: u32, value: u16) -> u32;

    /// Asks for a cache line in which most of a node is.
    #[inline(always)]
    fn expect_top(self, _handle: u32) {}

    /// Asks for the cache lines of a node.
    #[inline(always)]
    fn expect_node(self, _handle: u32) {}

    /// Asks for the cache lines of a bucket.
    #[inline(always)]
    fn expect_bucket(self, _handle: u32) {}

    /// The next hop of an IPv4 address whose root entry is `top`.
    fn below4(self, top: u32, addr: u32) -> u16;

    /// The next hop of an IPv4 address.
    #[inline(always)]
    fn one4(self, root: &[AtomicU32; ROOT], addr: u32) -> u16 {
        self.below4(root[(addr >> 16) as usize].load(Acquire), addr)
    }

    /// The next hop of an IPv6 address.
    #[inline(always)]
    fn one6(self, root: &[AtomicU32; ROOT], addr: u128) -> u16 {
        let leaf = root[(addr >> 112) as usize].load(Acquire);
        self.rest6(leaf, addr << 16) as u16
    }

    /// The next hop from a leaf on, for the bits of an IPv6 address behind it.
    #[inline(always)]
    fn rest6(self, mut leaf: u32, mut rest: u128) -> u32 {
        while leaf & HANDLE != 0 {
            let value = (rest >> 112) as u16;
            rest <<= 16;
            if is_bucket(leaf) {
                leaf = self.bucket(leaf, value);
                continue;
            }
            leaf = self.leaf(leaf, (value >> 8) as u8);
            if leaf & HANDLE != 0 {
                leaf = self.leaf(leaf, value as u8);
            }
        }
        leaf
    }
}

impl Steps for Forms<'_> {
    #[inline(always)]
    fn leaf(self, handle: u32, slot: u8) -> u32 {
        let (at, width) = locate(self, handle, slot);
        load(self.words, at, width)
    }

    #[inline(always)]
    fn bucket(self, handle: u32, value: u16) -> u32 {
        let (width, keys, first) = bucket_parts(handle);
        let run = keys_up_to(self, first, keys, value);
        load(self.words, (4 * (first + keys.div_ceil(2))) as u32 + (run << width), width)
    }

    #[inline(always)]
    fn below4(self, top: u32, addr: u32) -> u16 {
        let leaf = self.leaf(top, (addr >> 8) as u8);
        (if leaf & HANDLE == 0 { leaf } else { self.leaf(leaf, addr as u8) }) as u16
    }
}

/// The next hops of IPv4 addresses; both slices are equally long.
#[inline(always)]
pub(super) fn burst4<S: Steps>(steps: S, root: &[AtomicU32; ROOT], addrs: &[u32], next_hops: &mut [u16]) {
    let (trains, addrs) = addrs.as_chunks::<TRAIN>();
    let (next_hops_of_trains, next_hops) = next_hops.as_chunks_mut::<TRAIN>();
    // The next train's nodes are prefetched before the nodes of this one are looked at.
    let mut ahead = [Train::NONE; 2];
    if let Some(addrs) = trains.first() {
        ahead[0].start(steps, root, addrs);
    }
    for (k, (addrs, next_hops)) in trains.iter().zip(next_hops_of_trains).enumerate() {
        if let Some(next) = trains.get(k + 1) {
            ahead[(k + 1) & 1].start(steps, root, next);
        }
        ahead[k & 1].finish(steps, addrs, next_hops);
    }
    for (addr, next_hop) in addrs.iter().zip(next_hops) {
        *next_hop = steps.one4(root, *addr);
    }
}

/// Addresses on their way: their root entries, or that of the first one if all are alike.
#[derive(Debug, Clone, Copy)]
struct Train {
    alike: bool,
    tops: [u32; TRAIN],
}

impl Train {
    const NONE: Self = Self { alike: true, tops: [0; TRAIN] };

    #[inline(always)]
    fn start<S: Steps>(&mut self, steps: S, root: &[AtomicU32; ROOT], addrs: &[u32; TRAIN]) {
        self.alike = addrs.iter().fold(0, |differ, addr| differ | (addr ^ addrs[0])) == 0;
        let top = |addr: u32| {
            let top = root[(addr >> 16) as usize].load(Acquire);
            steps.expect_top(top);
            top
        };
        if self.alike {
            self.tops[0] = top(addrs[0]);
            return;
        }
        for (place, addr) in self.tops.iter_mut().zip(addrs) {
            *place = top(*addr);
        }
    }

    #[inline(always)]
    fn finish<S: Steps>(&self, steps: S, addrs: &[u32; TRAIN], next_hops: &mut [u16; TRAIN]) {
        if self.alike {
            *next_hops = [steps.below4(self.tops[0], addrs[0]); TRAIN];
            return;
        }
        for ((top, addr), next_hop) in self.tops.iter().zip(addrs).zip(next_hops) {
            *next_hop = steps.below4(*top, *addr);
        }
    }
}
