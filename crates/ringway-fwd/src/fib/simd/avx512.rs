//! IPv4 with AVX-512: 16 addresses at a time, nodes in two halves of 8.

use std::arch::x86_64::*;

use super::bmi;
use crate::fib::form::MASKS;
use crate::fib::memory::{Memory, NODE};

const LANES: usize = 16;

/// Where the arrays of a table are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrays {
    pub(super) nodes: *const i64,
    pub(super) words: *const i32,
}

impl Arrays {
    pub(super) fn of(memory: &Memory) -> Self {
        Self { nodes: memory.nodes().as_ptr().cast(), words: memory.words().as_ptr().cast() }
    }
}

/// # Safety
/// * The processor has AVX-512 F, BW, DQ, VL and VPOPCNTDQ, POPCNT, BMI1 and BMI2.
/// * Both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst4(memory: &Memory, addrs: &[u32], next_hops: &mut [u16]) {
    let root = memory.root16().as_ptr().cast::<i32>();
    let arrays = Arrays::of(memory);
    for (addrs, next_hops) in addrs.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
        let valid = (u32::MAX >> (32 - addrs.len() as u32)) as __mmask16;
        // SAFETY: the loads and the store are masked to the length of the chunks; what the others need is this function's contract.
        unsafe {
            let sixteen = _mm512_maskz_loadu_epi32(valid, addrs.as_ptr().cast());
            let first = _mm512_broadcastd_epi32(_mm512_castsi512_si128(sixteen));
            let alike = _mm512_mask_cmpneq_epi32_mask(valid, sixteen, first) == 0;
            let found = match alike {
                true => _mm256_set1_epi16(bmi::one4(memory, addrs[0]) as i16),
                false => group(root, arrays, sixteen),
            };
            _mm256_mask_storeu_epi16(next_hops.as_mut_ptr().cast(), valid, found);
        }
    }
}

/// The next hops of 16 addresses, 16 bits each.
///
/// # Safety
/// As for [`burst4`]; `root` and `arrays` are those of one table.
#[inline(always)] // into a function with these instructions, which the attribute for them rules out
unsafe fn group(root: *const i32, arrays: Arrays, addrs: __m512i) -> __m256i {
    // SAFETY: an entry of the root for any 16 bits; the load of the last one ends in the nodes. Numbers of nodes in the root and
    // in leaves are those of published nodes.
    unsafe {
        let tops = _mm512_i32gather_epi32::<2>(_mm512_srli_epi32::<16>(addrs), root);
        let tops = _mm512_and_si512(tops, _mm512_set1_epi32(0xffff));
        let (low, high) = (_mm512_castsi512_si256(addrs), _mm512_extracti64x4_epi64::<1>(addrs));
        let a = half(arrays, _mm512_castsi512_si256(tops), low);
        let b = half(arrays, _mm512_extracti64x4_epi64::<1>(tops), high);
        _mm512_cvtepi32_epi16(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b))
    }
}

/// The leaves of 8 addresses from their top nodes on.
///
/// # Safety
/// As for [`group`]; `tops` are published nodes.
#[inline(always)]
unsafe fn half(arrays: Arrays, tops: __m256i, addrs: __m256i) -> __m256i {
    // SAFETY: the caller's promise; leaves that are handles name published nodes.
    unsafe {
        let byte = _mm512_set1_epi64(0xff);
        let addrs = _mm512_cvtepu32_epi64(addrs);
        let slots = _mm512_and_si512(_mm512_srli_epi64::<8>(addrs), byte);
        let (bytes, widths) = locate(arrays, tops, slots, 0xff);
        let leaves = leaves_at(arrays, bytes, widths, 0xff);
        let deeper = _mm256_movepi32_mask(leaves);
        if deeper == 0 {
            return leaves;
        }
        let (bytes, widths) = locate(arrays, leaves, _mm512_and_si512(addrs, byte), deeper);
        let below = leaves_at(arrays, bytes, widths, deeper);
        _mm256_mask_mov_epi32(leaves, deeper, below)
    }
}

/// Where the leaves of 8 slots (0 to 255) of 8 nodes are, as bytes of the words, and their widths, in the lanes of `wanted`.
///
/// # Safety
/// As for [`group`]; `handles`, whose topmost bit does not matter, are published nodes in the lanes of `wanted`.
#[inline(always)]
pub(super) unsafe fn locate(
    arrays: Arrays,
    handles: __m256i,
    slots: __m512i,
    wanted: __mmask8,
) -> (__m256i, __m256i) {
    const { assert!(NODE == 5) };
    // SAFETY: word 0 of a node is its head, words 1 to 4 its bits: the quarter of a slot is below 4.
    unsafe {
        let zero = _mm512_setzero_si512();
        let numbers = _mm512_cvtepu32_epi64(_mm256_and_si256(handles, _mm256_set1_epi32(i32::MAX)));
        let at = _mm512_add_epi64(numbers, _mm512_slli_epi64::<2>(numbers));
        let quarters = _mm512_srli_epi64::<6>(slots);
        let of_slots = _mm512_add_epi64(at, quarters);
        let heads = _mm512_mask_i64gather_epi64::<8>(zero, wanted, at, arrays.nodes);
        let bits = _mm512_mask_i64gather_epi64::<8>(zero, wanted, of_slots, arrays.nodes.add(1));
        let up_to = _mm512_sllv_epi64(bits, _mm512_andnot_si512(slots, _mm512_set1_epi64(63)));
        let shifts = _mm512_add_epi64(_mm512_slli_epi64::<3>(quarters), _mm512_set1_epi64(32));
        let below = _mm512_and_si512(_mm512_srlv_epi64(heads, shifts), _mm512_set1_epi64(0xff));
        let runs = _mm512_add_epi64(_mm512_popcnt_epi64(up_to), below);
        let widths = _mm512_and_si512(heads, _mm512_set1_epi64(3));
        let firsts = _mm512_and_si512(heads, _mm512_set1_epi64(0xffff_fffc));
        let bytes = _mm512_add_epi64(firsts, _mm512_sllv_epi64(runs, widths));
        (_mm512_cvtepi64_epi32(bytes), _mm512_cvtepi64_epi32(widths))
    }
}

/// The leaves at these bytes of the words, in the lanes of `wanted`; other lanes are 0.
///
/// # Safety
/// As for [`group`]; the leaves were located.
#[inline(always)]
pub(super) unsafe fn leaves_at(arrays: Arrays, bytes: __m256i, widths: __m256i, wanted: __mmask8) -> __m256i {
    // SAFETY: the caller's promise. A gather reads up to 3 bytes more, at the end of the words their tail. There are less than
    // 2 GiB of words ([`Limits`](crate::fib::Limits)).
    unsafe {
        let zero = _mm256_setzero_si256();
        let leaves = _mm256_mmask_i32gather_epi32::<1>(zero, wanted, bytes, arrays.words);
        _mm256_and_si256(leaves, masks(widths))
    }
}

/// The bits of leaves by width.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
pub(super) unsafe fn masks(widths: __m256i) -> __m256i {
    let [a, b, c, d] = MASKS.map(|mask| mask as i32);
    // SAFETY: the caller's promise.
    unsafe { _mm256_permutevar8x32_epi32(_mm256_setr_epi32(a, b, c, d, 0, 0, 0, 0), widths) }
}
