//! Bursts of lookups, with the instructions that the processor has.
//!
//! These modules may use unsafe code: vector loads take addresses. Each of them starts from a node, a word or a root entry that the
//! writer has published, so it lies inside the memory; the wide loads at its end stay inside its tail.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_v6;

use std::fmt;

use super::memory::Memory;

/// The instructions that bursts are looked up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Those of any processor.
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

    /// The best that this processor can run.
    pub fn best() -> Self {
        Self::available().into_iter().max().unwrap_or(Self::Scalar)
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt"),
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi2")
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

/// The next hops of IPv4 addresses. `isa` is available.
#[inline]
pub(super) fn burst4(
    memory: &Memory,
    isa: Isa,
    addrs: &[u32],
    next_hops: &mut [u16],
    one: impl Fn(u32) -> u16,
) {
    match isa {
        // SAFETY: the processor has these instructions (`Reader::with_isa`), the slices are equally long (`View`).
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::burst4(memory, addrs, next_hops) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            let done = unsafe { avx2::burst4(memory, addrs, next_hops) };
            each(&addrs[done..], &mut next_hops[done..], one);
        }
        _ => each(addrs, next_hops, one),
    }
}

/// The next hops of IPv6 addresses. `isa` is available.
#[inline]
pub(super) fn burst6(
    memory: &Memory,
    isa: Isa,
    addrs: &[u128],
    next_hops: &mut [u16],
    one: impl Fn(u128) -> u16,
) {
    match isa {
        // SAFETY: as in `burst4`.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512_v6::burst6(memory, addrs, next_hops) },
        _ => each(addrs, next_hops, one),
    }
}

#[inline]
fn each<A: Copy>(addrs: &[A], next_hops: &mut [u16], one: impl Fn(A) -> u16) {
    for (addr, next_hop) in addrs.iter().zip(next_hops) {
        *next_hop = one(*addr);
    }
}
