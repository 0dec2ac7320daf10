//! IPv6 with AVX-512: groups of 64 addresses, step by step.
//!
//! Which form an address needs next, a node or a bucket, is random. So each step sorts the addresses into a list for nodes and
//! one for buckets. 8 nodes are looked at together, and all keys of a bucket are compared at once. There is no branch for an address. Its next
//! form is prefetched when it is put on a list, and used once all others were looked at.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

use super::avx512::masks;
use super::scalar::Steps;
use crate::form::{BUCKET, HANDLE, HEAD, MASKS, NODE_BYTE, WIDTH, bucket_parts, node_parts};
use crate::memory::Memory;

/// Addresses in a group.
const GROUP: usize = 64;

/// Room in a list: whole vectors are stored at its end.
const ROOM: usize = GROUP + 8;

/// Steps that the first 64 bits of an address decide, the root aside.
const STEPS: u32 = 3;

/// Addresses of a group that need the same kind of thing next.
#[derive(Debug)]
struct List {
    /// The first 64 bits of each address.
    addrs: [MaybeUninit<u64>; ROOM],
    /// How far it came: a handle, or where its leaf was located.
    leaves: [MaybeUninit<u32>; ROOM],
    /// The width of that leaf.
    widths: [MaybeUninit<u32>; ROOM],
    /// Its place in the group.
    places: [MaybeUninit<u32>; ROOM],
    len: usize,
}

/// Lanes of a list.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    addrs: __m512i,
    leaves: __m256i,
    widths: __m256i,
    places: __m256i,
}

impl List {
    fn new() -> Self {
        let words = || [MaybeUninit::uninit(); ROOM];
        Self {
            addrs: [MaybeUninit::uninit(); ROOM],
            leaves: words(),
            widths: words(),
            places: words(),
            len: 0,
        }
    }

    /// Adds the lanes of `wanted`.
    ///
    /// # Safety
    /// As for [`burst6`].
    #[inline(always)] // into a function with these instructions, which the attribute for them rules out
    unsafe fn add(&mut self, wanted: __mmask8, lanes: Lanes) {
        let at = self.len;
        assert!(at <= GROUP);
        // SAFETY: the caller's promise; 8 elements from `at` on are inside each array.
        unsafe {
            let (addrs, leaves) = (self.addrs.as_mut_ptr().add(at), self.leaves.as_mut_ptr().add(at));
            let (widths, places) = (self.widths.as_mut_ptr().add(at), self.places.as_mut_ptr().add(at));
            _mm512_storeu_epi64(addrs.cast(), _mm512_maskz_compress_epi64(wanted, lanes.addrs));
            _mm256_storeu_epi32(leaves.cast(), _mm256_maskz_compress_epi32(wanted, lanes.leaves));
            _mm256_storeu_epi32(widths.cast(), _mm256_maskz_compress_epi32(wanted, lanes.widths));
            _mm256_storeu_epi32(places.cast(), _mm256_maskz_compress_epi32(wanted, lanes.places));
        }
        self.len += wanted.count_ones() as usize;
    }

    /// Lanes from `at` on, and which of them are in use.
    ///
    /// # Safety
    /// As for [`burst6`].
    #[inline(always)]
    unsafe fn lanes(&self, at: usize) -> (__mmask8, Lanes) {
        assert!(at < self.len && at < GROUP);
        let wanted = (u32::MAX >> (32 - (self.len - at).min(8) as u32)) as __mmask8;
        // SAFETY: the caller's promise; only elements below `len` are loaded, which `add` stored.
        let lanes = unsafe {
            Lanes {
                addrs: _mm512_maskz_loadu_epi64(wanted, self.addrs.as_ptr().add(at).cast()),
                leaves: _mm256_maskz_loadu_epi32(wanted, self.leaves.as_ptr().add(at).cast()),
                widths: _mm256_maskz_loadu_epi32(wanted, self.widths.as_ptr().add(at).cast()),
                places: _mm256_maskz_loadu_epi32(wanted, self.places.as_ptr().add(at).cast()),
            }
        };
        (wanted, lanes)
    }

    /// Address, leaf and place of one that is in use.
    #[inline]
    fn one(&self, k: usize) -> (u64, u32, usize) {
        assert!(k < self.len && k < GROUP);
        // SAFETY: `add` stored the elements below `len`.
        unsafe {
            let (addr, leaf, place) = (self.addrs[k], self.leaves[k], self.places[k]);
            (addr.assume_init(), leaf.assume_init(), place.assume_init() as usize)
        }
    }
}

/// Addresses that need a node, and addresses that need a bucket.
#[derive(Debug)]
struct Lists {
    nodes: List,
    buckets: List,
}

impl Lists {
    /// Puts lanes of `wanted` that are handles on the list they belong to, and asks for what they name.
    ///
    /// # Safety
    /// As for [`burst6`].
    #[inline(always)]
    unsafe fn sort(&mut self, words: *const i32, wanted: __mmask8, lanes: Lanes) {
        // SAFETY: the caller's promise.
        unsafe {
            let handles = _mm256_movepi32_mask(lanes.leaves) & wanted;
            if handles == 0 {
                return;
            }
            let kind = _mm256_set1_epi32(BUCKET as i32);
            let buckets = _mm256_mask_test_epi32_mask(handles, lanes.leaves, kind);
            if handles != buckets {
                self.nodes.add(handles & !buckets, lanes);
            }
            if buckets != 0 {
                let before = self.buckets.len;
                self.buckets.add(buckets, lanes);
                self.expect(words, before);
            }
        }
    }

    /// Asks for the cache lines of buckets from a place on the list on.
    #[inline(always)]
    fn expect(&self, words: *const i32, from: usize) {
        for k in from..self.buckets.len {
            let (_, keys, first) = bucket_parts(self.buckets.one(k).1);
            ask(words.cast(), 4 * first);
            ask(words.cast(), 4 * first + 2 * keys);
        }
    }

    fn clear(&mut self) {
        (self.nodes.len, self.buckets.len) = (0, 0);
    }
}

/// Asks for a cache line.
#[inline]
fn ask(base: *const u8, byte: usize) {
    // SAFETY: every x86-64 processor has SSE; a prefetch of any address is allowed.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(byte).cast()) };
}

/// # Safety
/// * The processor has AVX-512 F, BW, DQ, VL and VPOPCNTDQ, POPCNT, BMI1 and BMI2.
/// * Both slices are equally long.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
pub(super) unsafe fn burst6(memory: &Memory, addrs: &[u128], next_hops: &mut [u16]) {
    let list = || Lists { nodes: List::new(), buckets: List::new() };
    let words = memory.words().as_ptr().cast();
    let mut walk = Walk { words, found: [0; ROOM], lower: List::new(), located: List::new() };
    let (mut now, mut next) = (list(), list());
    for (addrs, next_hops) in addrs.chunks(GROUP).zip(next_hops.chunks_mut(GROUP)) {
        now.clear();
        // SAFETY: the caller's promise.
        unsafe { walk.group(memory, addrs, (&mut now, &mut next)) };
        for (next_hop, leaf) in next_hops.iter_mut().zip(walk.found) {
            *next_hop = leaf as u16;
        }
    }
}

/// A group on its way.
#[derive(Debug)]
struct Walk {
    words: *const i32,
    /// The leaves of all places.
    found: [u32; ROOM],
    /// Addresses that need the second node of a step, then addresses whose leaf in it was located.
    lower: List,
    located: List,
}

impl Walk {
    /// # Safety
    /// As for [`burst6`]; there are at most 64 addresses.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    unsafe fn group(&mut self, memory: &Memory, addrs: &[u128], lists: (&mut Lists, &mut Lists)) {
        let (mut now, mut next) = lists;
        // SAFETY: the caller's promise.
        let alike = unsafe { self.roots(memory, addrs, now) };
        for step in 1..=STEPS {
            if now.nodes.len + now.buckets.len == 0 {
                break;
            }
            next.clear();
            let shift = 64 - 16 * (step + 1);
            // SAFETY: handles in the lists are of published nodes and buckets of this table.
            unsafe {
                self.upper_nodes(&now.nodes, shift + 8);
                self.lower_nodes(shift, next);
                self.buckets(&now.buckets, shift, next);
            }
            std::mem::swap(&mut now, &mut next);
        }
        for list in [&now.nodes, &now.buckets] {
            for k in 0..list.len {
                let (_, leaf, place) = list.one(k);
                self.found[place] = memory.forms().rest6(leaf, addrs[place] << 64);
            }
        }
        for (k, eight) in self.found[..GROUP].chunks_exact_mut(8).enumerate() {
            if alike >> k & 1 != 0 {
                eight.fill(eight[0]);
            }
        }
    }

    /// Starts all addresses at the root. Eights that are all alike are looked up once; they are the bits of the result.
    ///
    /// # Safety
    /// As for [`group`](Self::group).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    unsafe fn roots(&mut self, memory: &Memory, addrs: &[u128], lists: &mut Lists) -> u8 {
        let root = memory.root();
        let mut alike = 0;
        let (eights, rest) = addrs.as_chunks::<8>();
        for (k, eight) in eights.iter().enumerate() {
            // SAFETY: 8 addresses; an entry of the root for any 16 bits; `found` has room for 8 from any multiple of 8 on.
            unsafe {
                let low = _mm512_loadu_epi64(eight.as_ptr().cast());
                let high = _mm512_loadu_epi64(eight.as_ptr().add(4).cast());
                let one = _mm512_broadcast_i64x2(_mm512_castsi512_si128(low));
                let same = _mm512_cmpneq_epi64_mask(low, one) | _mm512_cmpneq_epi64_mask(high, one) == 0;
                alike |= u8::from(same) << k;
                let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
                let firsts = _mm512_permutex2var_epi64(low, odd, high);
                let tops = _mm512_srli_epi64::<48>(firsts);
                let leaves = _mm512_i64gather_epi32::<4>(tops, root.as_ptr().cast());
                _mm256_storeu_epi32(self.found.as_mut_ptr().add(8 * k).cast(), leaves);
                let first = _mm256_set1_epi32(8 * k as i32);
                let places = _mm256_add_epi32(first, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
                let lanes = Lanes { addrs: firsts, leaves, widths: leaves, places };
                lists.sort(self.words, if same { 1 } else { 0xff }, lanes);
            }
        }
        for (place, addr) in (8 * eights.len()..).zip(rest) {
            let leaf = root[(addr >> 112) as usize].load(Acquire);
            self.found[place] = leaf;
            let leaves = _mm256_set1_epi32(leaf as i32);
            let addrs = _mm512_set1_epi64((addr >> 64) as i64);
            let lanes = Lanes { addrs, leaves, widths: leaves, places: _mm256_set1_epi32(place as i32) };
            // SAFETY: the caller's promise.
            unsafe { lists.sort(self.words, 1, lanes) };
        }
        alike
    }

    /// The first node of a step, which few share: it is at hand.
    ///
    /// # Safety
    /// As for [`group`](Self::group); the leaves are handles of published nodes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    unsafe fn upper_nodes(&mut self, list: &List, shift: u32) {
        self.lower.len = 0;
        for at in (0..list.len).step_by(8) {
            let before = self.lower.len;
            // SAFETY: the caller's promise.
            unsafe {
                let (wanted, mut lanes) = list.lanes(at);
                let (bytes, widths) = locate(self.words, lanes.leaves, slots(lanes.addrs, shift), wanted);
                lanes.leaves = leaves_at(self.words, bytes, widths, wanted);
                self.keep(wanted, lanes);
                self.lower.add(_mm256_movepi32_mask(lanes.leaves) & wanted, lanes);
            }
            for k in before..self.lower.len {
                let (_, first) = node_parts(self.lower.one(k).1);
                ask(self.words.cast(), 4 * first);
                ask(self.words.cast(), 4 * (first + HEAD) - 1);
            }
        }
    }

    /// The second node.
    ///
    /// # Safety
    /// As for [`group`](Self::group).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    unsafe fn lower_nodes(&mut self, shift: u32, next: &mut Lists) {
        self.located.len = 0;
        for at in (0..self.lower.len).step_by(8) {
            let before = self.located.len;
            // SAFETY: leaves on this list are handles of published nodes.
            unsafe {
                let (wanted, mut lanes) = self.lower.lanes(at);
                (lanes.leaves, lanes.widths) =
                    locate(self.words, lanes.leaves, slots(lanes.addrs, shift), wanted);
                self.located.add(wanted, lanes);
            }
            for k in before..self.located.len {
                ask(self.words.cast(), 4 * HEAD + self.located.one(k).1 as usize);
            }
        }
        for at in (0..self.located.len).step_by(8) {
            // SAFETY: these leaves were located.
            unsafe {
                let (wanted, mut lanes) = self.located.lanes(at);
                lanes.leaves = leaves_at(self.words, lanes.leaves, lanes.widths, wanted);
                self.keep(wanted, lanes);
                next.sort(self.words, wanted, lanes);
            }
        }
    }

    /// All keys of a bucket are compared at once.
    ///
    /// # Safety
    /// As for [`group`](Self::group); the leaves are handles of published buckets.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt,bmi1,bmi2")]
    unsafe fn buckets(&mut self, list: &List, shift: u32, next: &mut Lists) {
        let words = self.words;
        for k in 0..list.len {
            let (addr, handle, place) = list.one(k);
            let (width, count, first) = bucket_parts(handle);
            let valid = u32::MAX >> (32 - count as u32);
            // SAFETY: the bucket's words begin at `first`; the load of 64 bytes may go beyond its keys, and at the end of the
            // words into their tail. The leaf is one of `count + 1` behind the keys.
            let leaf = unsafe {
                let keys = _mm512_loadu_epi16(words.add(first).cast());
                let value = _mm512_set1_epi16((addr >> shift) as i16);
                let run = _mm512_mask_cmple_epu16_mask(valid, keys, value).count_ones();
                let byte = run << width;
                let word = words.add(first + count.div_ceil(2) + (byte >> 2) as usize);
                // An atomic: the writer may store the leaf just now.
                let word = AtomicU32::from_ptr(word.cast_mut().cast()).load(Acquire);
                (word >> (8 * (byte & 3))) & MASKS[width as usize & 3]
            };
            self.found[place] = leaf;
            if leaf & HANDLE != 0 {
                let leaves = _mm256_set1_epi32(leaf as i32);
                let places = _mm256_set1_epi32(place as i32);
                let lanes = Lanes { addrs: _mm512_set1_epi64(addr as i64), leaves, widths: leaves, places };
                // SAFETY: the caller's promise.
                unsafe { next.sort(self.words, 1, lanes) };
            }
        }
    }

    /// Notes the leaves of lanes by their places.
    ///
    /// # Safety
    /// As for [`burst6`].
    #[inline(always)]
    unsafe fn keep(&mut self, wanted: __mmask8, lanes: Lanes) {
        let (mut places, mut leaves) = ([0u32; 8], [0u32; 8]);
        // SAFETY: the caller's promise; arrays of 8.
        unsafe {
            _mm256_storeu_epi32(places.as_mut_ptr().cast(), lanes.places);
            _mm256_storeu_epi32(leaves.as_mut_ptr().cast(), lanes.leaves);
        }
        for k in 0..wanted.trailing_ones() as usize {
            self.found[places[k] as usize] = leaves[k];
        }
    }
}

/// 8 bits of each address.
///
/// # Safety
/// As for [`burst6`].
#[inline(always)]
unsafe fn slots(addrs: __m512i, shift: u32) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let shifted = _mm512_srlv_epi64(addrs, _mm512_set1_epi64(i64::from(shift)));
        _mm512_and_si512(shifted, _mm512_set1_epi64(0xff))
    }
}

/// Where the leaves of 8 slots (0 to 255) of 8 nodes are, in the lanes of `wanted`, and their widths. Places are bytes of the words; the
/// head of a node does not count.
///
/// # Safety
/// As for [`burst6`]; `handles` name published nodes in the lanes of `wanted`.
#[inline(always)]
unsafe fn locate(
    words: *const i32,
    handles: __m256i,
    slots: __m512i,
    wanted: __mmask8,
) -> (__m256i, __m256i) {
    // SAFETY: a node has 8 bytes for each quarter, then a byte for each, of which a gather reads 4 more. The quarter of a slot is
    // below 4. A node has a leaf at least, or the tail of the words follows.
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
/// As for [`burst6`]; the leaves were located.
#[inline(always)]
unsafe fn leaves_at(words: *const i32, bytes: __m256i, widths: __m256i, wanted: __mmask8) -> __m256i {
    // SAFETY: the caller's promise. A gather reads up to 3 bytes more, at the end of the words their tail. There are less than
    // 2 GiB of words ([`Limits`](crate::Limits)).
    unsafe {
        let zero = _mm256_setzero_si256();
        let leaves = _mm256_mmask_i32gather_epi32::<1>(zero, wanted, bytes, words.add(HEAD));
        _mm256_and_si256(leaves, masks(widths))
    }
}
