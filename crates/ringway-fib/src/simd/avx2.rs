//! IPv4 with AVX2: 8 addresses at a time, nodes in two halves of 4.

use std::arch::x86_64::*;

use super::avx512::masks;
use super::bmi;
use crate::form::{HEAD, NODE_BYTE, WIDTH};
use crate::memory::Memory;

const LANES: usize = 8;

/// # Safety
/// * The processor has AVX2, POPCNT, BMI1 and BMI2.
/// * Both slices are equally long.
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst4(memory: &Memory, addrs: &[u32], next_hops: &mut [u16]) {
    let (root, words) = (memory.root().as_ptr().cast::<i32>(), memory.words().as_ptr().cast());
    let whole = addrs.len() / LANES * LANES;
    let (addrs, rest) = addrs.split_at(whole);
    let (next_hops, next_hops_of_rest) = next_hops.split_at_mut(whole);
    // SAFETY: the processor has these instructions; both slices are equally long.
    unsafe { bmi::burst4(memory, rest, next_hops_of_rest) };
    for (addrs, next_hops) in addrs.chunks(LANES).zip(next_hops.chunks_mut(LANES)) {
        // SAFETY: chunks of 8. The root has an entry for any 16 bits. Handles come from the root and from leaves (see the module
        // above).
        unsafe {
            let addrs = _mm256_loadu_si256(addrs.as_ptr().cast());
            let tops = _mm256_i32gather_epi32::<4>(root, _mm256_srli_epi32::<16>(addrs));
            let slots = _mm256_and_si256(_mm256_srli_epi32::<8>(addrs), _mm256_set1_epi32(0xff));
            let mut leaves = node_leaves(words, tops, slots);
            if _mm256_movemask_ps(_mm256_castsi256_ps(leaves)) != 0 {
                // Lanes without a handle look at their top node again: no other is sure to stay as it is.
                let deeper = _mm256_srai_epi32::<31>(leaves);
                let handles = _mm256_blendv_epi8(tops, leaves, deeper);
                let slots = _mm256_and_si256(addrs, _mm256_set1_epi32(0xff));
                leaves = _mm256_blendv_epi8(leaves, node_leaves(words, handles, slots), deeper);
            }
            let packed = _mm256_packus_epi32(leaves, leaves);
            let packed = _mm256_permute4x64_epi64::<0b1000>(packed);
            _mm_storeu_si128(next_hops.as_mut_ptr().cast(), _mm256_castsi256_si128(packed));
        }
    }
}

/// The leaves of 8 slots (0 to 255) of 8 nodes.
///
/// # Safety
/// As for [`burst4`]; `handles` name published nodes of the table whose words these are.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn node_leaves(words: *const i64, handles: __m256i, slots: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    let (low, high) = unsafe {
        (
            half(words, _mm256_castsi256_si128(handles), _mm256_castsi256_si128(slots)),
            half(words, _mm256_extracti128_si256::<1>(handles), _mm256_extracti128_si256::<1>(slots)),
        )
    };
    _mm256_set_m128i(high, low)
}

/// # Safety
/// As for [`node_leaves`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn half(words: *const i64, handles: __m128i, slots: __m128i) -> __m128i {
    let (handles, slots) = (_mm256_cvtepu32_epi64(handles), _mm256_cvtepu32_epi64(slots));
    let nodes = _mm256_and_si256(handles, _mm256_set1_epi64x(i64::from(NODE_BYTE)));
    // 8 for each quarter.
    let quarters = _mm256_and_si256(_mm256_srli_epi64::<3>(slots), _mm256_set1_epi64x(24));
    // SAFETY: as in `avx512::node_leaves`.
    unsafe {
        let bits = _mm256_i64gather_epi64::<1>(words, _mm256_add_epi64(nodes, quarters));
        let counts = _mm256_i64gather_epi64::<1>(words.add(4), nodes);
        let up_to = _mm256_sllv_epi64(bits, _mm256_andnot_si256(slots, _mm256_set1_epi64x(63)));
        let before = _mm256_srlv_epi64(counts, quarters);
        let runs = _mm256_add_epi64(ones(up_to), _mm256_and_si256(before, _mm256_set1_epi64x(0xff)));
        let widths = _mm256_and_si256(handles, _mm256_set1_epi64x(i64::from(WIDTH)));
        let bytes = _mm256_add_epi64(nodes, _mm256_sllv_epi64(runs, widths));
        let leaves = _mm256_i64gather_epi32::<1>(words.cast::<i32>().add(HEAD), bytes);
        _mm_and_si128(leaves, _mm256_castsi256_si128(masks(narrow(widths))))
    }
}

/// The number of ones in each 64 bits: by a table of 4 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn ones(bits: __m256i) -> __m256i {
    let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm256_set1_epi8(15);
    let low = _mm256_shuffle_epi8(table, _mm256_and_si256(bits, nibble));
    let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi64::<4>(bits), nibble));
    _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256())
}

/// The low 32 bits of each 64, in the low half.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow(x: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6))
}
