//! The two families: what differs between their lookups.

use super::memory::Memory;
use super::prefix::Address;
use super::simd::{self, Isa};

/// How a family walks its tables.
pub trait Walk: Address {
    /// The next hop of an address, 0 without a route.
    #[doc(hidden)]
    fn one(memory: &Memory, addr: Self) -> u16;

    /// The next hops of addresses; both slices are equally long, and the processor has these instructions.
    #[doc(hidden)]
    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]);
}

impl Walk for u32 {
    #[inline]
    fn one(memory: &Memory, addr: Self) -> u16 {
        simd::one4(memory, addr)
    }

    #[inline]
    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]) {
        simd::burst4(memory, isa, addrs, next_hops);
    }
}

impl Walk for u128 {
    #[inline]
    fn one(memory: &Memory, addr: Self) -> u16 {
        simd::one6(memory, addr)
    }

    #[inline]
    fn burst(memory: &Memory, isa: Isa, addrs: &[Self], next_hops: &mut [u16]) {
        simd::burst6(memory, isa, addrs, next_hops);
    }
}
