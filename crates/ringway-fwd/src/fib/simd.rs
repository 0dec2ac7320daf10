//! Bursts of lookups.
#![allow(unsafe_code)]

use super::memory::Memory;

/// The instructions that bursts are looked up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Any processor.
    Scalar,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F, BW, VL, DQ and VPOPCNTDQ.
    Avx512,
}

impl Isa {
    /// The best this processor has.
    pub fn best() -> Self {
        Self::Scalar
    }
}

pub(super) fn burst4(
    _memory: &Memory,
    _isa: Isa,
    addrs: &[u32],
    next_hops: &mut [u16],
    one: impl Fn(u32) -> u16,
) {
    for (addr, next_hop) in addrs.iter().zip(next_hops) {
        *next_hop = one(*addr);
    }
}

pub(super) fn burst6(
    _memory: &Memory,
    _isa: Isa,
    addrs: &[u128],
    next_hops: &mut [u16],
    one: impl Fn(u128) -> u16,
) {
    for (addr, next_hop) in addrs.iter().zip(next_hops) {
        *next_hop = one(*addr);
    }
}
