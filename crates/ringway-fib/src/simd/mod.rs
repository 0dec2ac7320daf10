//! Bursts of lookups, with the instructions that the processor has.
//!
//! These modules may use unsafe code: vector loads take addresses. What their SAFETY notes rest on:
//!
//! * A handle was loaded from the root or from a leaf while the reader's epoch is noted, or the table is borrowed. So the writer does
//!   not use what it names again: bits, their counts and keys do not change, and they and the leaves that they name lie inside the memory.
//!   Nothing else may be looked at, not even to be thrown away.
//! * Root entries and leaves do change meanwhile. Each store is one aligned word, and of what a load brings only bits of one such
//!   word are used.
//! * Loads that are wider than what they are for stay inside the tail at the end of the memory.
#![allow(unsafe_code, reason = "vector loads take addresses")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_v6;
#[cfg(target_arch = "x86_64")]
mod bmi;
mod scalar;
mod scalar_v6;

use std::fmt;

use super::memory::Memory;
use scalar::Steps;

/// The instructions that bursts are looked up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Instructions of any processor.
    Scalar,
    /// x86-64 with AVX2 and POPCNT. IPv6 is looked up as with `Scalar`.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VPOPCNTDQ.
    Avx512,
}

impl Isa {
    /// All that this processor can run.
    pub fn available() -> Vec<Self> {
        [Self::Scalar, Self::Avx2, Self::Avx512].into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// The widest that this processor can run; [`Fib::reader`](super::Fib::reader) measures which is the fastest.
    pub fn best() -> Self {
        Self::available().into_iter().max().unwrap_or(Self::Scalar)
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && has_bmi(),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && has_bmi()
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Self::Scalar
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// The next hop of an IPv4 address.
#[inline]
pub(super) fn one4(memory: &Memory, addr: u32) -> u16 {
    #[cfg(target_arch = "x86_64")]
    if has_bmi() {
        // SAFETY: just asked.
        return unsafe { bmi::one4(memory, addr) };
    }
    memory.forms().one4(memory.root(), addr)
}

/// The next hop of an IPv6 address.
#[inline]
pub(super) fn one6(memory: &Memory, addr: u128) -> u16 {
    #[cfg(target_arch = "x86_64")]
    if has_bmi() {
        // SAFETY: just asked.
        return unsafe { bmi::one6(memory, addr) };
    }
    memory.forms().one6(memory.root(), addr)
}

/// The next hops of IPv4 addresses. `isa` is available, and the slices are equally long.
#[inline]
pub(super) fn burst4(memory: &Memory, isa: Isa, addrs: &[u32], next_hops: &mut [u16]) {
    match isa {
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::burst4(memory, addrs, next_hops) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::burst4(memory, addrs, next_hops) },
        // SAFETY: just asked.
        #[cfg(target_arch = "x86_64")]
        Isa::Scalar if has_bmi() => unsafe { bmi::burst4(memory, addrs, next_hops) },
        _ => scalar::burst4(memory.forms(), memory.root(), addrs, next_hops),
    }
}

/// The next hops of IPv6 addresses. `isa` is available, and the slices are equally long.
#[inline]
pub(super) fn burst6(memory: &Memory, isa: Isa, addrs: &[u128], next_hops: &mut [u16]) {
    match isa {
        // SAFETY: the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512_v6::burst6(memory, addrs, next_hops) },
        // SAFETY: just asked; the slices are equally long.
        #[cfg(target_arch = "x86_64")]
        Isa::Scalar | Isa::Avx2 if has_bmi() => unsafe { bmi::burst6(memory, addrs, next_hops) },
        _ => scalar_v6::burst6(memory.forms(), memory.root(), addrs, next_hops),
    }
}

/// Whether ones are counted, and shifts made by any count, by an instruction each.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_bmi() -> bool {
    is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

/// The walk of any processor, which processors with better instructions pass by.
#[cfg(test)]
pub(super) mod portable {
    use super::super::memory::Memory;
    use super::scalar::{self, Steps};
    use super::scalar_v6;

    pub(crate) fn walk4(memory: &Memory, addrs: &[u32]) -> Vec<u16> {
        let mut out = vec![0; addrs.len()];
        scalar::burst4(memory.forms(), memory.root(), addrs, &mut out);
        assert!(addrs.iter().zip(&out).all(|(a, n)| memory.forms().one4(memory.root(), *a) == *n));
        out
    }

    pub(crate) fn walk6(memory: &Memory, addrs: &[u128]) -> Vec<u16> {
        let mut out = vec![0; addrs.len()];
        scalar_v6::burst6(memory.forms(), memory.root(), addrs, &mut out);
        assert!(addrs.iter().zip(&out).all(|(a, n)| memory.forms().one6(memory.root(), *a) == *n));
        out
    }
}
