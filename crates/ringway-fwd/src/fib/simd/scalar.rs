//! The walk from an address to its next hop, and bursts without vectors of addresses: on any processor.
//!
//! It is all loads, shifts and masks, with one branch for each 16 bits: an eBPF program does the same on the same bytes.
//!
//! Addresses do not depend on each other, so a processor that runs ahead overlaps their loads, as long as no branch is mispredicted.
//! Hence IPv6 addresses are sorted into lists by what they need next.

use std::sync::atomic::Ordering::Acquire;
use std::sync::atomic::{AtomicU16, AtomicU32};

use crate::fib::form::{BUCKET, HANDLE, bucket_parts, keys_up_to, load, locate};
use crate::fib::memory::{Forms, ROOT};

/// IPv4 addresses that are compared with each other before they are looked up: packets come in trains.
const TRAIN: usize = 16;

/// IPv6 addresses in a group.
pub(super) const GROUP: usize = 64;

/// Steps of 16 bits that are made by lists; prefixes are rarely longer than that.
const LISTED: u32 = 3;

/// The walk from a root entry or a leaf on: how it is done differs between processors.
pub(super) trait Steps: Copy {
    /// The leaf of a slot of the node that a handle names.
    fn leaf(self, handle: u32, slot: u8) -> u32 {
        let (at, width) = self.locate(handle, slot);
        self.load(at, width)
    }

    /// Where that leaf is, as a byte of the words, and its width.
    fn locate(self, handle: u32, slot: u8) -> (u32, u32);

    /// The leaf that was located.
    fn load(self, at: u32, width: u32) -> u32;

    /// Asks for the cache lines of a node or a bucket.
    fn expect(self, handle: u32);

    /// Asks for the cache line of a leaf.
    fn expect_leaf(self, at: u32);

    /// The leaf for 16 bits that a bucket decides.
    fn bucket(self, handle: u32, value: u16) -> u32;

    /// The next hop of an IPv4 address.
    fn one4(self, root: &[AtomicU16; ROOT], addr: u32) -> u16;

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
            if leaf & BUCKET != 0 {
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
    fn locate(self, handle: u32, slot: u8) -> (u32, u32) {
        locate(self, handle & !HANDLE, slot)
    }

    #[inline(always)]
    fn load(self, at: u32, width: u32) -> u32 {
        load(self.words, at, width)
    }

    fn expect(self, _: u32) {}

    fn expect_leaf(self, _: u32) {}

    #[inline(always)]
    fn bucket(self, handle: u32, value: u16) -> u32 {
        let (width, keys, first) = bucket_parts(handle);
        let run = keys_up_to(self, first, keys, value);
        load(self.words, (4 * (first + keys.div_ceil(2))) as u32 + (run << width), width)
    }

    #[inline(always)]
    fn one4(self, root: &[AtomicU16; ROOT], addr: u32) -> u16 {
        let top = root[(addr >> 16) as usize].load(Acquire);
        let leaf = self.leaf(u32::from(top), (addr >> 8) as u8);
        (if leaf & HANDLE == 0 { leaf } else { self.leaf(leaf, addr as u8) }) as u16
    }
}

#[inline(always)]
pub(super) fn burst4<S: Steps>(steps: S, root: &[AtomicU16; ROOT], addrs: &[u32], next_hops: &mut [u16]) {
    let (trains, addrs) = addrs.as_chunks::<TRAIN>();
    let (next_hops_of_trains, next_hops) = next_hops.as_chunks_mut::<TRAIN>();
    for (addrs, next_hops) in trains.iter().zip(next_hops_of_trains) {
        if addrs.iter().fold(0, |differ, addr| differ | (addr ^ addrs[0])) == 0 {
            *next_hops = [steps.one4(root, addrs[0]); TRAIN];
            continue;
        }
        for (addr, next_hop) in addrs.iter().zip(next_hops) {
            *next_hop = steps.one4(root, *addr);
        }
    }
    for (addr, next_hop) in addrs.iter().zip(next_hops) {
        *next_hop = steps.one4(root, *addr);
    }
}

#[inline(always)]
pub(super) fn burst6<S: Steps>(steps: S, root: &[AtomicU32; ROOT], addrs: &[u128], next_hops: &mut [u16]) {
    let mut group = Group::new();
    for (addrs, next_hops) in addrs.chunks(GROUP).zip(next_hops.chunks_mut(GROUP)) {
        group.lookup(steps, root, addrs, next_hops);
    }
}

/// Places of addresses that need the same kind of form next.
#[derive(Debug, Clone, Copy)]
struct List {
    places: [u8; GROUP],
    len: usize,
}

impl List {
    #[inline(always)]
    fn add(&mut self, wanted: bool, place: u8) {
        self.places[self.len & (GROUP - 1)] = place; // a list is full only after the last place
        self.len += usize::from(wanted);
    }

    #[inline(always)]
    fn places(&self) -> &[u8] {
        &self.places[..self.len]
    }

    #[inline(always)]
    fn take(&mut self) -> Self {
        Self { places: self.places, len: std::mem::take(&mut self.len) }
    }
}

/// Up to 64 addresses on their way.
#[derive(Debug)]
struct Group {
    /// How far each came.
    leaves: [u32; GROUP],
    /// Where its next leaf is, and how wide.
    located: [(u32, u32); GROUP],
    nodes: List,
    buckets: List,
}

impl Group {
    #[inline(always)]
    fn new() -> Self {
        let list = List { places: [0; GROUP], len: 0 };
        Self { leaves: [0; GROUP], located: [(0, 0); GROUP], nodes: list, buckets: list }
    }

    #[inline(always)]
    fn lookup<S: Steps>(
        &mut self,
        steps: S,
        root: &[AtomicU32; ROOT],
        addrs: &[u128],
        next_hops: &mut [u16],
    ) {
        let mut before = !addrs[0];
        for (place, &addr) in addrs.iter().enumerate() {
            let leaf = root[(addr >> 112) as usize].load(Acquire);
            self.leaves[place & (GROUP - 1)] = leaf;
            self.sort(place as u8, leaf, addr != before);
            before = addr;
        }
        for step in 1..=LISTED {
            if self.nodes.len + self.buckets.len == 0 {
                break;
            }
            self.step(steps, addrs, step);
        }
        self.finish(steps, addrs);
        for (place, next_hop) in next_hops.iter_mut().enumerate() {
            // One that is as the one before was put on no list.
            if place > 0 && addrs[place] == addrs[place - 1] {
                self.leaves[place] = self.leaves[place - 1];
            }
            *next_hop = self.leaves[place] as u16;
        }
    }

    #[inline(always)]
    fn sort(&mut self, place: u8, leaf: u32, wanted: bool) {
        let (handle, bucket) = (leaf & HANDLE != 0 && wanted, leaf & BUCKET != 0);
        self.nodes.add(handle && !bucket, place);
        self.buckets.add(handle && bucket, place);
    }

    /// 16 bits of each address on a list. What is needed next is asked for, and used after all others were looked at.
    #[inline(always)]
    fn step<S: Steps>(&mut self, steps: S, addrs: &[u128], step: u32) {
        let value = |place: u8| (addrs[place as usize] >> (112 - 16 * step)) as u16;
        let (upper, buckets) = (self.nodes.take(), self.buckets.take());
        let mut lower = List { len: 0, ..upper };
        for &place in upper.places() {
            let leaf = steps.leaf(self.leaves[place as usize], (value(place) >> 8) as u8);
            self.leaves[place as usize] = leaf;
            steps.expect(leaf);
            lower.add(leaf & HANDLE != 0, place);
        }
        for &place in lower.places() {
            let (at, width) = steps.locate(self.leaves[place as usize], value(place) as u8);
            self.located[place as usize] = (at, width);
            steps.expect_leaf(at);
        }
        for &place in lower.places() {
            let (at, width) = self.located[place as usize];
            self.arrive(steps, place, steps.load(at, width));
        }
        for &place in buckets.places() {
            let leaf = steps.bucket(self.leaves[place as usize], value(place));
            self.arrive(steps, place, leaf);
        }
    }

    /// An address has made a step.
    #[inline(always)]
    fn arrive<S: Steps>(&mut self, steps: S, place: u8, leaf: u32) {
        self.leaves[place as usize] = leaf;
        steps.expect(leaf);
        self.sort(place, leaf, true);
    }

    /// The few that go further than the steps by lists.
    #[inline(always)]
    fn finish<S: Steps>(&mut self, steps: S, addrs: &[u128]) {
        let (nodes, buckets) = (self.nodes.take(), self.buckets.take());
        for &place in nodes.places().iter().chain(buckets.places()) {
            let place = place as usize;
            self.leaves[place] = steps.rest6(self.leaves[place], addrs[place] << (16 * (LISTED + 1)));
        }
    }
}
