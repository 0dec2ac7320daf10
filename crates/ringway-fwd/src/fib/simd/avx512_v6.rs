//! IPv6 with AVX-512: groups of 64 addresses, step by step.
//!
//! Which form an address needs next, a node or a bucket, is random. So each step sorts the addresses into a list for nodes, of
//! which 8 are looked at together, and one for buckets, whose keys are compared at once; there is no branch for an address.

use std::arch::x86_64::*;
use std::sync::atomic::Ordering::Acquire;

use super::avx512::{Arrays, node_leaves};
use crate::fib::form::{BUCKET, HANDLE, MASKS, bucket_parts};
use crate::fib::lookup::rest6;
use crate::fib::memory::Memory;

/// Addresses in a group.
const GROUP: usize = 64;

/// Room in a list: whole vectors are stored at its end.
const ROOM: usize = GROUP + 8;

/// Steps that the first 64 bits of an address decide, the root aside.
const STEPS: u32 = 3;

/// Addresses of a group that need the same kind of form next.
#[derive(Debug)]
struct List {
    /// The first 64 bits of each address.
    addrs: [u64; ROOM],
    leaves: [u32; ROOM],
    /// Its place in the group.
    places: [u32; ROOM],
    len: usize,
}

impl List {
    fn new() -> Self {
        Self { addrs: [0; ROOM], leaves: [0; ROOM], places: [0; ROOM], len: 0 }
    }

    /// Adds the lanes of `wanted`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn add(&mut self, wanted: __mmask8, addrs: __m512i, leaves: __m256i, places: __m256i) {
        let at = self.len;
        assert!(at <= GROUP);
        // SAFETY: 8 elements from `at` on are inside each array.
        unsafe {
            let to = self.addrs.as_mut_ptr().add(at);
            _mm512_storeu_epi64(to.cast(), _mm512_maskz_compress_epi64(wanted, addrs));
            let to = self.leaves.as_mut_ptr().add(at);
            _mm256_storeu_epi32(to.cast(), _mm256_maskz_compress_epi32(wanted, leaves));
            let to = self.places.as_mut_ptr().add(at);
            _mm256_storeu_epi32(to.cast(), _mm256_maskz_compress_epi32(wanted, places));
        }
        self.len += wanted.count_ones() as usize;
    }

    /// Adds one address if `wanted`.
    #[inline]
    fn add_one(&mut self, wanted: bool, addr: u64, leaf: u32, place: u32) {
        (self.addrs[self.len], self.leaves[self.len], self.places[self.len]) = (addr, leaf, place);
        self.len += usize::from(wanted);
    }

    /// 8 addresses, leaves and places from `at` on, and which of them are in use.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn eight(&self, at: usize) -> (__m512i, __m256i, __m256i, __mmask8) {
        let wanted = (u32::MAX >> (32 - (self.len - at).min(8) as u32)) as __mmask8;
        let (addrs, leaves, places) =
            (&self.addrs[at..at + 8], &self.leaves[at..at + 8], &self.places[at..at + 8]);
        // SAFETY: slices of 8.
        unsafe {
            (
                _mm512_loadu_epi64(addrs.as_ptr().cast()),
                _mm256_loadu_epi32(leaves.as_ptr().cast()),
                _mm256_loadu_epi32(places.as_ptr().cast()),
                wanted,
            )
        }
    }
}

/// Those that need a node and those that need a bucket.
#[derive(Debug)]
struct Lists {
    nodes: List,
    buckets: List,
}

impl Lists {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn sort(&mut self, wanted: __mmask8, addrs: __m512i, leaves: __m256i, places: __m256i) {
        let handles = _mm256_movepi32_mask(leaves) & wanted;
        if handles == 0 {
            return;
        }
        let buckets = _mm256_mask_test_epi32_mask(handles, leaves, _mm256_set1_epi32(BUCKET as i32));
        if handles != buckets {
            self.nodes.add(handles & !buckets, addrs, leaves, places);
        }
        if buckets != 0 {
            self.buckets.add(buckets, addrs, leaves, places);
        }
    }
}

/// # Safety
/// * The processor has AVX-512 F, BW, DQ, VL and VPOPCNTDQ.
/// * Both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi2")]
pub(super) unsafe fn burst6(memory: &Memory, addrs: &[u128], next_hops: &mut [u16]) {
    let mut found = [0; ROOM];
    for (addrs, next_hops) in addrs.chunks(GROUP).zip(next_hops.chunks_mut(GROUP)) {
        // SAFETY: the caller's promise.
        unsafe { group(memory, addrs, &mut found) };
        for (next_hop, leaf) in next_hops.iter_mut().zip(found) {
            *next_hop = leaf as u16;
        }
    }
}

/// # Safety
/// As for [`burst6`]; there are at most 64 addresses.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi2")]
unsafe fn group(memory: &Memory, addrs: &[u128], found: &mut [u32; ROOM]) {
    let mut now = Lists { nodes: List::new(), buckets: List::new() };
    // SAFETY: the caller's promise.
    let alike = unsafe { roots(memory, addrs, found, &mut now) };
    let arrays = Arrays::of(memory);
    let mut next = Lists { nodes: List::new(), buckets: List::new() };
    for step in 1..=STEPS {
        if now.nodes.len + now.buckets.len == 0 {
            break;
        }
        let shift = 64 - 16 * (step + 1);
        // SAFETY: handles in the lists are of published nodes and buckets of this table.
        unsafe {
            nodes(arrays, &now.nodes, shift, found, &mut next);
            buckets(arrays, &now.buckets, shift, found, &mut next);
        }
        std::mem::swap(&mut now, &mut next);
        (next.nodes.len, next.buckets.len) = (0, 0);
    }
    for list in [&now.nodes, &now.buckets] {
        for k in 0..list.len {
            let place = list.places[k] as usize;
            found[place] = rest6(memory, list.leaves[k], addrs[place] << 64);
        }
    }
    for (k, eight) in found[..GROUP].chunks_exact_mut(8).enumerate() {
        if alike >> k & 1 != 0 {
            eight.fill(eight[0]);
        }
    }
}

/// Starts all addresses at the root. Eights that are all alike are looked up once; they are the bits of the result.
///
/// # Safety
/// As for [`group`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi2")]
unsafe fn roots(memory: &Memory, addrs: &[u128], found: &mut [u32; ROOM], lists: &mut Lists) -> u8 {
    let root = memory.root32();
    let mut alike = 0;
    for (k, eight) in addrs.chunks(8).enumerate() {
        let at = 8 * k;
        let Some((low, high)) = eight.split_first_chunk::<4>().filter(|_| eight.len() == 8) else {
            for (place, addr) in (at..).zip(eight) {
                let leaf = root[(addr >> 112) as usize].load(Acquire);
                found[place] = leaf;
                let (handle, bucket) = (leaf & HANDLE != 0, leaf & BUCKET != 0);
                let first = (addr >> 64) as u64;
                lists.nodes.add_one(handle && !bucket, first, leaf, place as u32);
                lists.buckets.add_one(handle && bucket, first, leaf, place as u32);
            }
            continue;
        };
        // SAFETY: 4 addresses each; an entry of the root for any 16 bits; `found` has room for 8 from any `at` on.
        unsafe {
            let (low, high) =
                (_mm512_loadu_epi64(low.as_ptr().cast()), _mm512_loadu_epi64(high.as_ptr().cast()));
            let one = _mm512_broadcast_i64x2(_mm512_castsi512_si128(low));
            let same = _mm512_cmpneq_epi64_mask(low, one) | _mm512_cmpneq_epi64_mask(high, one) == 0;
            alike |= u8::from(same) << k;
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            let firsts = _mm512_permutex2var_epi64(low, odd, high);
            let leaves = _mm512_i64gather_epi32::<4>(_mm512_srli_epi64::<48>(firsts), root.as_ptr().cast());
            _mm256_storeu_epi32(found.as_mut_ptr().add(at).cast(), leaves);
            let places =
                _mm256_add_epi32(_mm256_set1_epi32(at as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            lists.sort(if same { 1 } else { 0xff }, firsts, leaves, places);
        }
    }
    alike
}

/// One step of those that need nodes: a node for 8 bits, and for most of them another one.
///
/// # Safety
/// As for [`group`]; the leaves are handles of published nodes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi2")]
unsafe fn nodes(arrays: Arrays, list: &List, shift: u32, found: &mut [u32; ROOM], next: &mut Lists) {
    let byte = _mm512_set1_epi64(0xff);
    let numbers = _mm256_set1_epi32(i32::MAX);
    for at in (0..list.len).step_by(8) {
        let (addrs, handles, places, wanted) = list.eight(at);
        let values = _mm512_srlv_epi64(addrs, _mm512_set1_epi64(i64::from(shift)));
        let upper = _mm512_and_si512(_mm512_srli_epi64::<8>(values), byte);
        let first = _mm512_cvtepu32_epi64(_mm256_and_si256(handles, numbers));
        // SAFETY: the caller's promise; the first node's handles are of published nodes.
        let leaves = unsafe {
            let leaves = node_leaves(arrays, first, upper, wanted);
            let deeper = _mm256_movepi32_mask(leaves) & wanted;
            let second = _mm512_cvtepu32_epi64(_mm256_and_si256(leaves, numbers));
            let below = node_leaves(arrays, second, _mm512_and_si512(values, byte), deeper);
            _mm256_mask_mov_epi32(leaves, deeper, below)
        };
        let mut out = [0u32; 8];
        // SAFETY: an array of 8.
        unsafe { _mm256_storeu_epi32(out.as_mut_ptr().cast(), leaves) };
        for (place, leaf) in list.places[at..at + 8].iter().zip(out).take(list.len - at) {
            found[*place as usize] = leaf;
        }
        next.sort(wanted, addrs, leaves, places);
    }
}

/// One step of those that need buckets: all keys of one are compared at once.
///
/// # Safety
/// As for [`group`]; the leaves are handles of published buckets.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi2")]
unsafe fn buckets(arrays: Arrays, list: &List, shift: u32, found: &mut [u32; ROOM], next: &mut Lists) {
    for k in 0..list.len {
        let (addr, handle, place) = (list.addrs[k], list.leaves[k], list.places[k]);
        let (width, count, first) = bucket_parts(handle);
        let valid = u32::MAX >> (32 - count as u32);
        // SAFETY: the bucket's words begin at `first`; the load of 64 bytes may go beyond its keys, and at the end of the words
        // into their tail. The leaf is one of `count + 1` behind the keys.
        let leaf = unsafe {
            let keys = _mm512_loadu_epi16(arrays.words.add(first).cast());
            let value = _mm512_set1_epi16((addr >> shift) as i16);
            let run = _mm512_mask_cmple_epu16_mask(valid, keys, value).count_ones();
            let byte = run << width;
            let word = arrays.words.add(first + count.div_ceil(2) + (byte >> 2) as usize);
            (word.read_volatile() as u32 >> (8 * (byte & 3))) & MASKS[width as usize & 3]
        };
        found[place as usize] = leaf;
        let (deeper, bucket) = (leaf & HANDLE != 0, leaf & BUCKET != 0);
        next.nodes.add_one(deeper && !bucket, addr, leaf, place);
        next.buckets.add_one(deeper && bucket, addr, leaf, place);
    }
}
