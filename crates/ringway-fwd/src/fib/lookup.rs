//! The walk from an address to its next hop, one address at a time.
//!
//! It is all loads, shifts and masks, with one branch for each 16 bits: an eBPF program does the same on the same bytes.

use std::sync::atomic::Ordering::Acquire;

use super::form::{BUCKET, HANDLE, bucket_leaf, node_leaf};
use super::memory::Memory;
use super::prefix::Address;
use super::simd::{self, Isa};

/// How a family walks its tables.
pub trait Walk: Address {
    /// Bytes of a root entry.
    #[doc(hidden)]
    const ROOT_ENTRY: usize;

    /// The next hop of an address, 0 without a route.
    #[doc(hidden)]
    fn one(memory: &Memory, addr: Self) -> u16;

    /// The next hops of addresses; both slices are equally long.
    #[doc(hidden)]
    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]);
}

impl Walk for u32 {
    const ROOT_ENTRY: usize = 2;

    #[inline]
    fn one(memory: &Memory, addr: Self) -> u16 {
        let (nodes, words) = (memory.nodes(), memory.words());
        let top = memory.root16()[(addr >> 16) as usize].load(Acquire);
        let mut leaf = node_leaf(nodes, words, u32::from(top), (addr >> 8) as u8);
        if leaf & HANDLE != 0 {
            leaf = node_leaf(nodes, words, leaf & !HANDLE, addr as u8);
        }
        leaf as u16
    }

    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]) {
        simd::burst4(memory, isa, addrs, next_hops, |addr| Self::one(memory, addr));
    }
}

impl Walk for u128 {
    const ROOT_ENTRY: usize = 4;

    #[inline]
    fn one(memory: &Memory, addr: Self) -> u16 {
        let leaf = memory.root32()[(addr >> 112) as usize].load(Acquire);
        rest6(memory, leaf, addr << 16) as u16
    }

    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]) {
        simd::burst6(memory, isa, addrs, next_hops, |addr| Self::one(memory, addr));
    }
}

/// The next hop from a leaf on, for the bits of an IPv6 address behind it.
#[inline]
pub(super) fn rest6(memory: &Memory, mut leaf: u32, mut rest: u128) -> u32 {
    let (nodes, words) = (memory.nodes(), memory.words());
    while leaf & HANDLE != 0 {
        let value = (rest >> 112) as u16;
        rest <<= 16;
        if leaf & BUCKET != 0 {
            leaf = bucket_leaf(words, leaf, value);
            continue;
        }
        leaf = node_leaf(nodes, words, leaf & !HANDLE, (value >> 8) as u8);
        if leaf & HANDLE != 0 {
            leaf = node_leaf(nodes, words, leaf & !HANDLE, value as u8);
        }
    }
    leaf
}
