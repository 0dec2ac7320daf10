//! IPv6 bursts without vectors of addresses: groups of 64, step by step.
//!
//! The first 24 bits lead through few forms, which are at hand. Behind them each step asks for what all addresses need before it
//! looks at the first. Which form an address needs after 32 bits, a node, a bucket or none, is random: addresses are sorted into
//! lists by that, without a branch.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

use super::scalar::Steps;
use crate::fib::form::{HANDLE, is_bucket, is_node};
use crate::fib::memory::ROOT;

/// Addresses in a group.
const GROUP: usize = 64;

/// Addresses that are compared with each other: packets come in trains.
const TRAIN: usize = 8;

/// Steps of 16 bits that are made by lists, behind those of the root and the first one; prefixes are rarely longer than that.
const LISTED: u32 = 2;

/// The next hops of IPv6 addresses; both slices are equally long.
#[inline(always)]
pub(super) fn burst6<S: Steps>(steps: S, root: &[AtomicU32; ROOT], addrs: &[u128], next_hops: &mut [u16]) {
    let mut group = Group::new();
    for (addrs, next_hops) in addrs.chunks(GROUP).zip(next_hops.chunks_mut(GROUP)) {
        group.lookup(steps, root, addrs, next_hops);
    }
}

/// Places of addresses that need the same kind of form next. How many there are is kept apart, in a register.
type List = [u8; GROUP];

/// Adds a place to a list if it is wanted there: no branch.
#[inline(always)]
fn add(list: &mut List, len: &mut usize, place: u8, wanted: bool) {
    list[*len & (GROUP - 1)] = place; // a list is full only after the last place
    *len += usize::from(wanted);
}

/// Up to 64 addresses on their way.
#[derive(Debug)]
struct Group {
    /// The first 64 bits of each.
    keys: [u64; GROUP],
    /// How far each came.
    leaves: [u32; GROUP],
    /// Those that need a node next, and those that need a bucket.
    nodes: List,
    buckets: List,
    /// Those that need the second node of a step.
    lower: List,
}

impl Group {
    #[inline(always)]
    fn new() -> Self {
        let list = [0; GROUP];
        Self { keys: [0; GROUP], leaves: [0; GROUP], nodes: list, buckets: list, lower: list }
    }

    #[inline(always)]
    fn lookup<S: Steps>(
        &mut self,
        steps: S,
        root: &[AtomicU32; ROOT],
        addrs: &[u128],
        next_hops: &mut [u16],
    ) {
        let trains = self.start(steps, root, addrs);
        let (mut nodes, mut buckets) = self.first_step(steps, addrs, trains);
        for step in 2..2 + LISTED {
            if nodes + buckets == 0 {
                break;
            }
            (nodes, buckets) = self.step(steps, 48 - 16 * step, (nodes, buckets));
        }
        for &place in self.nodes[..nodes].iter().chain(&self.buckets[..buckets]) {
            let place = usize::from(place);
            self.leaves[place] = steps.rest6(self.leaves[place], addrs[place] << (16 * (LISTED + 2)));
        }
        for (next_hop, leaf) in next_hops.iter_mut().zip(&self.leaves) {
            *next_hop = *leaf as u16;
        }
        for (number, next_hops) in next_hops.chunks_mut(TRAIN).enumerate().filter(|_| trains != 0) {
            if trains >> number & 1 != 0 {
                next_hops.fill(next_hops[0]);
            }
        }
    }

    /// The first 24 bits, of one address only where eight are alike; which eights these are is the result, as bits.
    #[inline(always)]
    fn start<S: Steps>(&mut self, steps: S, root: &[AtomicU32; ROOT], addrs: &[u128]) -> u8 {
        let mut trains = 0;
        for (number, addrs) in addrs.chunks(TRAIN).enumerate() {
            let alike = addrs.iter().fold(0, |differ, addr| differ | (addr ^ addrs[0])) == 0;
            trains |= u8::from(alike) << number;
            for (place, addr) in (TRAIN * number..).zip(if alike { &addrs[..1] } else { addrs }) {
                let key = (addr >> 64) as u64;
                let mut leaf = root[(key >> 48) as usize].load(Acquire);
                if is_node(leaf) {
                    leaf = steps.wide_leaf(leaf, (key >> 40) as u8);
                    steps.expect_node(leaf);
                } else if leaf & HANDLE != 0 {
                    steps.expect_bucket(leaf);
                }
                self.keys[place & (GROUP - 1)] = key;
                self.leaves[place & (GROUP - 1)] = leaf;
            }
        }
        trains
    }

    /// The first 32 bits: puts all that have to go on on lists, and returns how long these are.
    #[inline(always)]
    fn first_step<S: Steps>(&mut self, steps: S, addrs: &[u128], trains: u8) -> (usize, usize) {
        let (mut nodes, mut buckets) = (0, 0);
        for (number, addrs) in addrs.chunks(TRAIN).enumerate() {
            let wanted = if trains >> number & 1 != 0 { 1 } else { addrs.len() };
            for place in (TRAIN * number..).take(wanted) {
                let (leaf, key) = (self.leaves[place & (GROUP - 1)], self.keys[place & (GROUP - 1)]);
                let next = match leaf {
                    leaf if is_node(leaf) => steps.wide_leaf(leaf, (key >> 32) as u8),
                    leaf if is_bucket(leaf) => steps.bucket(leaf, (key >> 32) as u16),
                    next_hop => next_hop,
                };
                self.arrive(place as u8, next, (&mut nodes, &mut buckets));
            }
        }
        (nodes, buckets)
    }

    /// 16 more bits of each address on a list; returns how long the lists are then.
    #[inline(always)]
    fn step<S: Steps>(&mut self, steps: S, shift: u32, (nodes, buckets): (usize, usize)) -> (usize, usize) {
        self.nodes[..nodes].iter().for_each(|&place| steps.expect_node(self.leaf(place)));
        self.buckets[..buckets].iter().for_each(|&place| steps.expect_bucket(self.leaf(place)));
        let mut lower = 0;
        for k in 0..nodes {
            let place = self.nodes[k & (GROUP - 1)];
            let leaf = steps.wide_leaf(self.leaf(place), (self.key(place) >> shift >> 8) as u8);
            self.leaves[usize::from(place) & (GROUP - 1)] = leaf;
            add(&mut self.lower, &mut lower, place, leaf & HANDLE != 0);
        }
        self.lower[..lower].iter().for_each(|&place| steps.expect_node(self.leaf(place)));
        let (mut next_nodes, mut next_buckets) = (0, 0);
        // The lists are filled anew behind where they are read.
        for k in 0..buckets {
            let place = self.buckets[k & (GROUP - 1)];
            let leaf = steps.bucket(self.leaf(place), (self.key(place) >> shift) as u16);
            self.arrive(place, leaf, (&mut next_nodes, &mut next_buckets));
        }
        for k in 0..lower {
            let place = self.lower[k & (GROUP - 1)];
            let leaf = steps.narrow_leaf(self.leaf(place), (self.key(place) >> shift) as u8);
            self.arrive(place, leaf, (&mut next_nodes, &mut next_buckets));
        }
        (next_nodes, next_buckets)
    }

    /// An address has made a step, and goes on the list of what it needs next.
    #[inline(always)]
    fn arrive(&mut self, place: u8, leaf: u32, (nodes, buckets): (&mut usize, &mut usize)) {
        self.leaves[usize::from(place) & (GROUP - 1)] = leaf;
        add(&mut self.nodes, nodes, place, is_node(leaf));
        add(&mut self.buckets, buckets, place, is_bucket(leaf));
    }

    #[inline(always)]
    fn leaf(&self, place: u8) -> u32 {
        self.leaves[usize::from(place) & (GROUP - 1)]
    }

    #[inline(always)]
    fn key(&self, place: u8) -> u64 {
        self.keys[usize::from(place) & (GROUP - 1)]
    }
}
