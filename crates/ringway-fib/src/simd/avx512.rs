//! IPv4 with AVX-512: 16 addresses at a time.

use std::arch::x86_64::*;

use super::bmi;
use crate::form::{HEAD, MASKS, NODE_BYTE, WIDTH};
use crate::memory::Memory;

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
/// As for [`burst4`]; `root` and `words` belong to one table.
#[inline(always)] // into a function with these instructions, which the attribute for them rules out
unsafe fn group(root: *const i32, words: *const i32, addrs: __m512i) -> __m256i {
    // SAFETY: an entry of the root for any 16 bits. Handles in the root and in leaves name published nodes.
    unsafe {
        let byte = _mm512_set1_epi32(0xff);
        let tops = _mm512_i32gather_epi32::<4>(_mm512_srli_epi32::<16>(addrs), root);
        let slots = _mm512_and_si512(_mm512_srli_epi32::<8>(addrs), byte);
        let mut leaves = node_leaves(words, tops, slots, 0xffff);
        let deeper = _mm512_movepi32_mask(leaves);
        if deeper != 0 {
            let below = node_leaves(words, leaves, _mm512_and_si512(addrs, byte), deeper);
            leaves = _mm512_mask_mov_epi32(leaves, deeper, below);
        }
        _mm512_cvtepi32_epi16(leaves)
    }
}

/// The leaves of 16 slots (0 to 255) of 16 nodes, in the lanes of `wanted`; other lanes are 0.
///
/// # Safety
/// As for [`group`]; `handles` name published nodes in the lanes of `wanted`.
#[inline(always)]
unsafe fn node_leaves(words: *const i32, handles: __m512i, slots: __m512i, wanted: __mmask16) -> __m512i {
    // SAFETY: a node has 8 bytes for each quarter, then a byte for each: the quarter of a slot is below 4. The run is one of its
    // leaves, of which a gather reads up to 3 bytes more, at the end of the words their tail. There are less than 2 GiB of words
    // ([`Limits`](crate::Limits)).
    unsafe {
        let zero = _mm512_setzero_si512();
        let nodes = _mm512_and_si512(handles, _mm512_set1_epi32(NODE_BYTE as i32));
        // 8 for each quarter.
        let quarters = _mm512_and_si512(_mm512_srli_epi32::<3>(slots), _mm512_set1_epi32(24));
        let of_slots = _mm512_add_epi32(nodes, quarters);
        let counts = _mm512_mask_i32gather_epi32::<1>(zero, wanted, nodes, words.add(8));
        let behind = _mm512_andnot_si512(slots, _mm512_set1_epi32(63));
        let low = ones(words, _mm512_castsi512_si256(of_slots), _mm512_castsi512_si256(behind), wanted as u8);
        let (of_slots, behind) =
            (_mm512_extracti64x4_epi64::<1>(of_slots), _mm512_extracti64x4_epi64::<1>(behind));
        let high = ones(words, of_slots, behind, (wanted >> 8) as u8);
        let up_to = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let before = _mm512_and_si512(_mm512_srlv_epi32(counts, quarters), _mm512_set1_epi32(0xff));
        let runs = _mm512_add_epi32(up_to, before);
        let widths = _mm512_and_si512(handles, _mm512_set1_epi32(WIDTH as i32));
        let bytes = _mm512_add_epi32(nodes, _mm512_sllv_epi32(runs, widths));
        let leaves = _mm512_mask_i32gather_epi32::<1>(zero, wanted, bytes, words.add(HEAD));
        let [a, b, c, d] = MASKS.map(|mask| mask as i32);
        let masks = _mm512_setr_epi32(a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        _mm512_and_si512(leaves, _mm512_permutexvar_epi32(widths, masks))
    }
}

/// How many bits are set in 8 numbers of 64 bits, at these bytes of the words, but for the topmost ones, as many as `behind` says.
///
/// # Safety
/// As for [`group`]; the numbers are inside the words in the lanes of `wanted`.
#[inline(always)]
unsafe fn ones(words: *const i32, bytes: __m256i, behind: __m256i, wanted: __mmask8) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = _mm512_mask_i32gather_epi64::<1>(_mm512_setzero_si512(), wanted, bytes, words.cast());
        let up_to = _mm512_sllv_epi64(bits, _mm512_cvtepu32_epi64(behind));
        _mm512_cvtepi64_epi32(_mm512_popcnt_epi64(up_to))
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
