//! IPv4 with AVX-512: 16 addresses at a time, nodes in two halves of 8.

use std::arch::x86_64::*;

use super::bmi;
use crate::fib::form::{HEAD, MASKS, NODE_BYTE, WIDTH};
use crate::fib::memory::Memory;

const LANES: usize = 16;

/// # Safety
/// * The processor has AVX-512 F, BW, DQ, VL and VPOPCNTDQ, POPCNT, BMI1 and BMI2.
/// * Both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst4(memory: &Memory, addrs: &[u32], next_hops: &mut [u16]) {
    let (root, words) = (memory.root().as_ptr().cast::<i32>(), memory.words().as_ptr().cast());
    for (addrs, next_hops) in addrs.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
        let valid = (u32::MAX >> (32 - addrs.len() as u32)) as __mmask16;
        // SAFETY: the loads and the store are masked to the length of the chunks; what the others need is this function's contract.
        unsafe {
            let sixteen = _mm512_maskz_loadu_epi32(valid, addrs.as_ptr().cast());
            let first = _mm512_broadcastd_epi32(_mm512_castsi512_si128(sixteen));
            let alike = _mm512_mask_cmpneq_epi32_mask(valid, sixteen, first) == 0;
            let found = match alike {
                true => _mm256_set1_epi16(bmi::one4(memory, addrs[0]) as i16),
                false => group(root, words, sixteen),
            };
            _mm256_mask_storeu_epi16(next_hops.as_mut_ptr().cast(), valid, found);
        }
    }
}

/// The next hops of 16 addresses, 16 bits each.
///
/// # Safety
/// As for [`burst4`]; `root` and `words` are those of one table.
#[inline(always)] // into a function with these instructions, which the attribute for them rules out
unsafe fn group(root: *const i32, words: *const i32, addrs: __m512i) -> __m256i {
    // SAFETY: an entry of the root for any 16 bits. Handles in the root and in leaves are those of published nodes.
    unsafe {
        let tops = _mm512_i32gather_epi32::<4>(_mm512_srli_epi32::<16>(addrs), root);
        let (low, high) = (_mm512_castsi512_si256(addrs), _mm512_extracti64x4_epi64::<1>(addrs));
        let a = half(words, _mm512_castsi512_si256(tops), low);
        let b = half(words, _mm512_extracti64x4_epi64::<1>(tops), high);
        _mm512_cvtepi32_epi16(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b))
    }
}

/// The leaves of 8 addresses from their top nodes on.
///
/// # Safety
/// As for [`group`]; `tops` are handles of published nodes.
#[inline(always)]
unsafe fn half(words: *const i32, tops: __m256i, addrs: __m256i) -> __m256i {
    // SAFETY: the caller's promise; leaves that are handles name published nodes.
    unsafe {
        let byte = _mm512_set1_epi64(0xff);
        let addrs = _mm512_cvtepu32_epi64(addrs);
        let slots = _mm512_and_si512(_mm512_srli_epi64::<8>(addrs), byte);
        let (bytes, widths) = locate(words, tops, slots, 0xff);
        let leaves = leaves_at(words, bytes, widths, 0xff);
        let deeper = _mm256_movepi32_mask(leaves);
        if deeper == 0 {
            return leaves;
        }
        let (bytes, widths) = locate(words, leaves, _mm512_and_si512(addrs, byte), deeper);
        let below = leaves_at(words, bytes, widths, deeper);
        _mm256_mask_mov_epi32(leaves, deeper, below)
    }
}

/// Where the leaves of 8 slots (0 to 255) of 8 nodes are, in the lanes of `wanted`: bytes of the words, the head of a node not
/// counted, and their widths.
///
/// # Safety
/// As for [`group`]; `handles` are those of published nodes in the lanes of `wanted`.
#[inline(always)]
pub(super) unsafe fn locate(
    words: *const i32,
    handles: __m256i,
    slots: __m512i,
    wanted: __mmask8,
) -> (__m256i, __m256i) {
    // SAFETY: a node has 8 bytes for each quarter, then a byte for each, of which a gather reads 4 more: the quarter of a slot is
    // below 4, and a node has a leaf at least, or the tail of the words follows.
    unsafe {
        let zero = _mm512_setzero_si512();
        let handles = _mm512_cvtepu32_epi64(handles);
        let nodes = _mm512_and_si512(handles, _mm512_set1_epi64(i64::from(NODE_BYTE)));
        // 8 for each quarter.
        let quarters = _mm512_and_si512(_mm512_srli_epi64::<3>(slots), _mm512_set1_epi64(24));
        let of_slots = _mm512_add_epi64(nodes, quarters);
        let bits = _mm512_mask_i64gather_epi64::<1>(zero, wanted, of_slots, words.cast());
        let counts = _mm512_mask_i64gather_epi64::<1>(zero, wanted, nodes, words.add(8).cast());
        let up_to = _mm512_sllv_epi64(bits, _mm512_andnot_si512(slots, _mm512_set1_epi64(63)));
        let before = _mm512_srlv_epi64(counts, quarters);
        let before = _mm512_and_si512(before, _mm512_set1_epi64(0xff));
        let runs = _mm512_add_epi64(_mm512_popcnt_epi64(up_to), before);
        let widths = _mm512_and_si512(handles, _mm512_set1_epi64(i64::from(WIDTH)));
        let bytes = _mm512_add_epi64(nodes, _mm512_sllv_epi64(runs, widths));
        (_mm512_cvtepi64_epi32(bytes), _mm512_cvtepi64_epi32(widths))
    }
}

/// The leaves at these bytes of the words behind a head, in the lanes of `wanted`; other lanes are 0.
///
/// # Safety
/// As for [`group`]; the leaves were located.
#[inline(always)]
pub(super) unsafe fn leaves_at(
    words: *const i32,
    bytes: __m256i,
    widths: __m256i,
    wanted: __mmask8,
) -> __m256i {
    // SAFETY: the caller's promise. A gather reads up to 3 bytes more, at the end of the words their tail. There are less than
    // 2 GiB of words ([`Limits`](crate::fib::Limits)).
    unsafe {
        let zero = _mm256_setzero_si256();
        let leaves = _mm256_mmask_i32gather_epi32::<1>(zero, wanted, bytes, words.add(HEAD));
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
