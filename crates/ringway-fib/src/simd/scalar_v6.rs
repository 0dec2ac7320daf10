//! IPv6 bursts without vectors of addresses: groups of 64, step by step.
//!
//! The first 24 bits lead through few forms, which are at hand. Behind them each step asks for what all addresses need before it
//! looks at the first. Which form an address needs after 32 bits, a node, a bucket or none, is random: addresses are sorted into
//! lists by that, without a branch. An entry of a list is all that its step needs, in 64 bits:
//!
//! | bits | 63-48 | 47-32 | 31-0 |
//! | --- | --- | --- | --- |
//! | | place in the group | the 16 bits of the address that come next | the handle of the form |

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

use super::scalar::Steps;
use crate::form::{BUCKET, HANDLE, WIDTH, is_bucket, is_node};
use crate::memory::ROOT;

/// Addresses in a group.
const GROUP: usize = 64;

/// Addresses that are compared with each other: packets come in trains.
const TRAIN: usize = 8;

/// Steps of 16 bits that are made by lists, behind the root and the first step; prefixes are rarely longer than that.
const LISTED: u32 = 2;

/// The next hops of IPv6 addresses; both slices are equally long.
#[inline(always)]
pub(super) fn burst6<S: Steps>(steps: S, root: &[AtomicU32; ROOT], addrs: &[u128], next_hops: &mut [u16]) {
    let mut group = Group::new();
    for (addrs, next_hops) in addrs.chunks(GROUP).zip(next_hops.chunks_mut(GROUP)) {
        group.lookup(steps, root, addrs, next_hops);
    }
}

/// Addresses that need the same kind of form next. How many there are is kept apart, in a register.
type List = [u64; GROUP];

/// Adds an entry if it is wanted there, 1 or 0: no branch.
#[inline(always)]
fn add(list: &mut List, len: &mut usize, entry: u64, wanted: u32) {
    list[*len & (GROUP - 1)] = entry; // a list is full only after the last place
    *len += wanted as usize;
}

/// How many need a node, and how many a bucket.
#[derive(Debug, Clone, Copy, Default)]
struct Lens {
    nodes: usize,
    buckets: usize,
}

/// What an entry has behind its handle.
#[inline(always)]
fn tail(place: usize, bits: u64) -> u64 {
    (place as u64) << 48 | (bits & 0xffff) << 32
}

/// The entry with another handle.
#[inline(always)]
fn with_handle(entry: u64, handle: u32) -> u64 {
    (entry >> 32 << 32) | u64::from(handle)
}

#[inline(always)]
fn handle(entry: u64) -> u32 {
    entry as u32
}

#[inline(always)]
fn bits(entry: u64) -> u16 {
    (entry >> 32) as u16
}

#[inline(always)]
fn place(entry: u64) -> usize {
    (entry >> 48) as usize & (GROUP - 1)
}

/// Whether a leaf is the handle of a node with leaves of 32 bits, as most are that do not end a walk.
#[inline(always)]
fn is_wide_node(leaf: u32) -> bool {
    leaf & (HANDLE | BUCKET | WIDTH) == HANDLE | 2
}

/// Up to 64 addresses on their way.
#[derive(Debug)]
struct Group {
    /// The first 64 bits of each.
    keys: [u64; GROUP],
    /// How far each came.
    leaves: [u32; GROUP],
    /// Addresses that need a node next, and addresses that need a bucket.
    nodes: List,
    buckets: List,
    /// Addresses that need the second node of a step.
    lower: List,
}

impl Group {
    fn new() -> Self {
        let list = [0; GROUP];
        Self { keys: list, leaves: [0; GROUP], nodes: list, buckets: list, lower: list }
    }

    #[inline(always)]
    fn lookup<S: Steps>(
        &mut self,
        steps: S,
        root: &[AtomicU32; ROOT],
        addrs: &[u128],
        next_hops: &mut [u16],
    ) {
        let alike = self.start(steps, root, addrs);
        let mut lens = self.first_step(steps, addrs.len().div_ceil(TRAIN), alike);
        for step in 2..2 + LISTED {
            if lens.nodes + lens.buckets == 0 {
                break;
            }
            lens = self.step(steps, step, lens);
        }
        for &entry in self.nodes[..lens.nodes].iter().chain(&self.buckets[..lens.buckets]) {
            let addr = addrs.get(place(entry)).copied().unwrap_or_default();
            self.leaves[place(entry)] = steps.rest6(handle(entry), addr << (16 * (LISTED + 2)));
        }
        for (next_hop, leaf) in next_hops.iter_mut().zip(&self.leaves) {
            *next_hop = *leaf as u16;
        }
        for (number, next_hops) in next_hops.chunks_mut(TRAIN).enumerate().filter(|_| alike != 0) {
            if alike >> number & 1 != 0 {
                next_hops.fill(next_hops[0]);
            }
        }
    }

    /// The first 24 bits. Trains whose addresses are all alike are the bits of the result.
    #[inline(always)]
    fn start<S: Steps>(&mut self, steps: S, root: &[AtomicU32; ROOT], addrs: &[u128]) -> u8 {
        let mut alike = 0;
        let (trains, rest) = addrs.as_chunks::<TRAIN>();
        for (number, train) in trains.iter().enumerate() {
            alike |= u8::from(self.start_train(steps, root, number, train)) << number;
        }
        if let Some(first) = rest.first() {
            let mut train = [*first; TRAIN];
            train[..rest.len()].copy_from_slice(rest);
            alike |= u8::from(self.start_train(steps, root, trains.len(), &train)) << trains.len();
        }
        alike
    }

    /// Starts a train, or only its first address if all are alike.
    #[inline(always)]
    fn start_train<S: Steps>(
        &mut self,
        steps: S,
        root: &[AtomicU32; ROOT],
        number: usize,
        train: &[u128; TRAIN],
    ) -> bool {
        let alike = train.iter().fold(0, |differ, addr| differ | (addr ^ train[0])) == 0;
        let number = number % (GROUP / TRAIN);
        let keys = &mut self.keys.as_chunks_mut::<TRAIN>().0[number];
        let leaves = &mut self.leaves.as_chunks_mut::<TRAIN>().0[number];
        let top = |key: u64| root[(key >> 48) as usize].load(Acquire);
        if alike {
            keys[0] = (train[0] >> 64) as u64;
            leaves[0] = first_leaf(steps, top(keys[0]), keys[0]);
            return true;
        }
        for ((key, leaf), addr) in keys.iter_mut().zip(leaves).zip(train) {
            *key = (addr >> 64) as u64;
            *leaf = first_leaf(steps, top(*key), *key);
        }
        false
    }

    /// The first 32 bits: puts all that have to go on on lists.
    #[inline(always)]
    fn first_step<S: Steps>(&mut self, steps: S, trains: usize, alike: u8) -> Lens {
        let mut lens = Lens::default();
        for number in 0..trains.min(GROUP / TRAIN) {
            if alike >> number & 1 != 0 {
                self.second_leaf(steps, TRAIN * number, &mut lens);
                continue;
            }
            for k in 0..TRAIN {
                self.second_leaf(steps, TRAIN * number + k, &mut lens);
            }
        }
        lens
    }

    #[inline(always)]
    fn second_leaf<S: Steps>(&mut self, steps: S, place: usize, lens: &mut Lens) {
        let (leaf, key) = (self.leaves[place], self.keys[place]);
        let next = if is_wide_node(leaf) {
            steps.wide_leaf(leaf, (key >> 32) as u8)
        } else if is_node(leaf) {
            steps.narrow_leaf(leaf, (key >> 32) as u8)
        } else if is_bucket(leaf) {
            steps.bucket(leaf, (key >> 32) as u16)
        } else {
            leaf
        };
        self.arrive(place, next, key >> 16, lens);
    }

    /// 16 more bits of each address on a list; how long the lists are then.
    #[inline(always)]
    fn step<S: Steps>(&mut self, steps: S, step: u32, lens: Lens) -> Lens {
        self.nodes[..lens.nodes].iter().for_each(|&entry| steps.expect_node(handle(entry)));
        self.buckets[..lens.buckets].iter().for_each(|&entry| steps.expect_bucket(handle(entry)));
        let mut lower = 0;
        for &entry in &self.nodes[..lens.nodes] {
            let leaf = steps.wide_leaf(handle(entry), (bits(entry) >> 8) as u8);
            self.leaves[place(entry)] = leaf;
            add(&mut self.lower, &mut lower, with_handle(entry, leaf), leaf >> 31);
        }
        self.lower[..lower].iter().for_each(|&entry| steps.expect_node(handle(entry)));
        // The lists are filled again behind the place where they are read.
        let mut next = Lens::default();
        for k in 0..lens.buckets {
            let entry = self.buckets[k & (GROUP - 1)];
            self.go_on(entry, steps.bucket(handle(entry), bits(entry)), step, &mut next);
        }
        for k in 0..lower {
            let entry = self.lower[k & (GROUP - 1)];
            self.go_on(entry, steps.narrow_leaf(handle(entry), bits(entry) as u8), step, &mut next);
        }
        next
    }

    /// An address has made a step; few have to go on.
    #[inline(always)]
    fn go_on(&mut self, entry: u64, leaf: u32, step: u32, lens: &mut Lens) {
        let place = place(entry);
        if leaf & HANDLE == 0 {
            self.leaves[place] = leaf;
        } else {
            self.arrive(place, leaf, self.keys[place] << (16 * (step - 2)), lens);
        }
    }

    /// An address has made a step, and goes on the list of what it needs next, with the low 16 bits of `bits`.
    #[inline(always)]
    fn arrive(&mut self, place: usize, leaf: u32, bits: u64, lens: &mut Lens) {
        self.leaves[place] = leaf;
        let entry = tail(place, bits) | u64::from(leaf);
        let more = leaf >> 31;
        let bucket = (leaf / BUCKET) & more; // their bits, moved to the lowest
        add(&mut self.nodes, &mut lens.nodes, entry, more ^ bucket);
        add(&mut self.buckets, &mut lens.buckets, entry, bucket);
    }
}

/// The leaf of the first 24 bits, from the root entry of the first 16 on; what it may name is asked for.
#[inline(always)]
fn first_leaf<S: Steps>(steps: S, top: u32, key: u64) -> u32 {
    let leaf = if is_wide_node(top) {
        steps.wide_leaf(top, (key >> 40) as u8)
    } else if top & HANDLE == 0 {
        return top;
    } else if is_bucket(top) {
        steps.expect_bucket(top);
        return top;
    } else {
        steps.narrow_leaf(top, (key >> 40) as u8)
    };
    steps.expect_node(leaf);
    leaf
}
