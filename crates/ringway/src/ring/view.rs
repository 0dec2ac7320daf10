//! Access to a ring's words in shared memory. Each word is read once and checked before it is used.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::own_words::OwnWords;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_OFFLOAD, RING_HEADER, SLOT_SIZE, ring as at};
use crate::memory::Region;
use crate::sys::time;

/// A ring in a region: its header, slots, control block and the buffers that its slots name.
///
/// Ownership: the program owns slots `[head, tail)` and the buffers they name; the backend owns the rest. The
/// view itself enforces nothing: [`RxRing`](super::RxRing), [`TxRing`](super::TxRing) and the backends do.
/// One buffer, one slot: no two slots that a program owns, of any rings of a region, and no [`Buf`](crate::Buf) name one buffer.
/// Where only this process, and programs in the kernel that keep each slot's buffer, write slot words, code exchanges indexes and
/// never copies one. Where another process writes them, the view has [words of its own](super::own_view), and the backend
/// claims each buffer ([`Claims`](crate::memory::Claims)). Such a region has no spare buffers, so no `Buf` either.
/// Thread-safety: all words are atomics, so a wrong user gets wrong packets, never undefined behaviour; slices
/// are made only for buffers of slots that the maker owns.
#[derive(Debug, Clone)]
pub(crate) struct RingView {
    pub(super) header: NonNull<u8>,
    pub(super) slots: NonNull<AtomicU64>,
    pub(super) bufs: NonNull<u8>,
    num: u32,
    pub(super) nbufs: u32,
    buf_size: u32,
    number: u32,
    region: Region,
    /// Set when `slots` are private words.
    pub(super) own: Option<OwnWords>,
}

// SAFETY: the pointers are into the mapping that `region` keeps alive, or into words that `own` keeps; access is by atomics
// (see above).
unsafe impl Send for RingView {}
// SAFETY: as above.
unsafe impl Sync for RingView {}

impl RingView {
    /// The view of ring object `number` of `region`, which has `num` slots.
    ///
    /// # Panics
    /// When the region has no such ring or its rings have fewer slots.
    pub(crate) fn new(region: &Region, number: u32, num: u32) -> Self {
        let s = region.shared();
        assert!(number < s.layout.rings && (2..=s.layout.slots).contains(&num));
        let header = s.mem.at(s.layout.ring(number), s.layout.ring_size);
        let bufs = s.mem.at(s.layout.buf_ofs, s.layout.bufs as usize * s.layout.buf_size as usize);
        // SAFETY: a ring object is larger than its header.
        let slots = unsafe { header.add(RING_HEADER) }.cast();
        let (nbufs, buf_size) = (s.layout.bufs, s.layout.buf_size);
        Self { header, slots, bufs, num, nbufs, buf_size, number, region: region.clone(), own: None }
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// The ring's number in its region, which also names its control block.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn num(&self) -> u32 {
        self.num
    }

    pub(crate) fn buf_size(&self) -> u32 {
        self.buf_size
    }

    fn u32(&self, ofs: usize) -> &AtomicU32 {
        debug_assert!(ofs + 4 <= RING_HEADER);
        // SAFETY: all offsets used are constants inside the header, aligned; the region keeps it mapped.
        unsafe { self.header.add(ofs).cast::<AtomicU32>().as_ref() }
    }

    fn u64(&self, ofs: usize) -> &AtomicU64 {
        debug_assert!(ofs + 8 <= RING_HEADER);
        // SAFETY: as in `u32`.
        unsafe { self.header.add(ofs).cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.u32(at::HEAD).load(Relaxed)
    }

    #[inline]
    pub(crate) fn cur(&self) -> u32 {
        self.u32(at::CUR).load(Relaxed)
    }

    /// The tail that the program may see; backends keep the real one in private memory.
    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.u32(at::TAIL).load(Acquire)
    }

    /// Moves head and cur on; Release, so that a raw reader of the header finds the slots before it written.
    #[inline]
    pub(crate) fn set_head(&self, head: u32) {
        self.u32(at::HEAD).store(head, Release);
        self.u32(at::CUR).store(head, Release);
    }

    #[inline]
    pub(crate) fn set_tail(&self, tail: u32) {
        self.u32(at::TAIL).store(tail, Release);
    }

    /// (Re-)initialises all three cursors.
    pub(crate) fn set_cursors(&self, head: u32, tail: u32) {
        self.set_tail(tail);
        self.set_head(head);
    }

    /// Stamps the time of a sync: seconds and microseconds of the wall clock.
    pub(crate) fn stamp(&self) {
        let (s, ns) = time::wall();
        self.u64(at::TS).store(s as u64, Relaxed);
        self.u64(at::TS + 8).store(ns as u64 / 1000, Relaxed);
    }

    /// Seconds and microseconds of the last stamped sync.
    pub(crate) fn timestamp(&self) -> (i64, i64) {
        (self.u64(at::TS).load(Relaxed) as i64, self.u64(at::TS + 8).load(Relaxed) as i64)
    }

    #[inline]
    fn word(&self, i: u32) -> &AtomicU64 {
        assert!(i < self.num);
        // SAFETY: `i < num`, the ring object, or the private words, have room for `num` slots, which are 16-byte aligned.
        unsafe { self.slots.byte_add(i as usize * SLOT_SIZE).as_ref() }
    }

    /// Slot `i` as it is now: one load.
    #[inline]
    pub(crate) fn slot(&self, i: u32) -> Slot {
        Slot::from_word(self.word(i).load(Relaxed))
    }

    /// Where programs in the kernel tell how far they came: `KERNEL_PROGRESS` in bpf/switch/state.h, in the part of the header that netmap
    /// leaves to the kernel.
    #[inline]
    pub(crate) fn kernel_progress(&self) -> &AtomicU32 {
        self.u32(at::KERNEL_PROGRESS)
    }

    /// Behind it: whether frames of the ring may have unfinished checksums (`PARTIAL_CHECKSUMS`).
    #[inline]
    pub(crate) fn partial_checksums(&self) -> bool {
        self.u32(at::PARTIAL_CHECKSUMS).load(Relaxed) != 0
    }

    /// Replaces slot `i`: one store. Release keeps the order of slot writes, on which recovery after a crash relies.
    #[inline]
    pub(crate) fn set_slot(&self, i: u32, s: Slot) {
        self.word(i).store(s.word(), Release);
    }

    /// The `ptr` word of slot `i`.
    fn ptr(&self, i: u32) -> &AtomicU64 {
        assert!(i < self.num);
        // SAFETY: as in `word`; the second half of a slot is inside it.
        unsafe { self.slots.byte_add(i as usize * SLOT_SIZE + 8).as_ref() }
    }

    /// What the slot says is left to be done on its frame; anything, should the program have written it.
    pub(crate) fn offload_word(&self, i: u32) -> u64 {
        self.ptr(i).load(Relaxed)
    }

    /// Notes in slot `i`, the first of a frame, what is left to be done on it.
    pub(crate) fn set_offload(&self, i: u32, word: u64) {
        self.ptr(i).store(word, Relaxed);
        let s = self.slot(i);
        self.set_slot(i, Slot { flags: s.flags | NS_OFFLOAD, ..s });
    }

    /// Whether `s` may be used in this region.
    #[inline]
    pub(crate) fn valid(&self, s: Slot) -> bool {
        s.valid(self.nbufs, self.buf_size)
    }

    #[inline]
    fn buf(&self, idx: u32) -> *mut u8 {
        debug_assert!(idx < self.nbufs);
        // SAFETY: callers checked `idx < nbufs`, and the pool holds that many buffers.
        unsafe { self.bufs.as_ptr().add(idx as usize * self.buf_size as usize) }
    }

    /// Has the CPU fetch the first bytes of the buffer of slot `i`, to read them or to write them.
    #[inline]
    pub(crate) fn fetch(&self, i: u32, write: bool) {
        let s = self.slot(i);
        #[cfg(target_arch = "x86_64")]
        if self.valid(s) {
            use std::arch::asm;
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let at = self.buf(s.buf);
            // SAFETY: a valid slot's buffer lies in the pool; a hint reads nothing that could race with who writes there. The
            // second one takes the line away from other CPUs, and does nothing on processors that do not know it.
            unsafe {
                if write {
                    asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
                } else {
                    _mm_prefetch::<_MM_HINT_T0>(at.cast());
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (s, write);
    }

    /// The bytes of `s`.
    ///
    /// # Safety
    /// * `self.valid(s)` holds for this very value;
    /// * the caller owns the slot that held it, for the lifetime of the result, and makes no mutable slice of it.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(&self, s: Slot) -> &'a [u8] {
        // SAFETY: a valid slot's `len` bytes lie in its buffer; ownership is the caller's duty.
        unsafe { std::slice::from_raw_parts(self.buf(s.buf), s.len as usize) }
    }

    /// The first `len` bytes of the buffer of `s`.
    ///
    /// # Safety
    /// As for [`bytes`](Self::bytes), with `len <= buf_size`, and this is the only slice of that buffer.
    #[inline]
    pub(crate) unsafe fn bytes_mut<'a>(&self, s: Slot, len: usize) -> &'a mut [u8] {
        debug_assert!(len <= self.buf_size as usize);
        // SAFETY: see `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.buf(s.buf), len) }
    }

    /// Copies the frame part of valid slot `from` of another ring into the buffer of valid slot `to` of this one.
    /// Both slots belong to the caller.
    #[inline]
    pub(crate) fn copy_from(&self, to: Slot, other: &Self, from: Slot) {
        assert!(self.valid(to) && other.valid(from) && u32::from(from.len) <= self.buf_size);
        // SAFETY: both ranges lie in their pools (asserted above). A hostile peer may have written the same index
        // twice or be changing the bytes: `copy` allows overlap, and bytes are only data.
        unsafe { std::ptr::copy(other.buf(from.buf), self.buf(to.buf), from.len as usize) }
    }

    /// Writes `bytes` to the buffer of `to`, a slot that the caller owns.
    ///
    /// # Panics
    /// When the slot is not valid or `bytes` are more than fit.
    pub(crate) fn write(&self, to: Slot, bytes: &[u8]) {
        assert!(self.valid(to) && bytes.len() <= self.buf_size as usize);
        // SAFETY: in the buffer pool (asserted above); `bytes` is a slice of private memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.buf(to.buf), bytes.len()) }
    }

    /// Lets `fill` write to the buffer of `to`, a slot that the caller owns; returns what it returns.
    ///
    /// # Panics
    /// When the slot is not valid.
    #[inline]
    pub(crate) fn fill<T>(&self, to: Slot, fill: impl FnOnce(&mut [u8]) -> T) -> T {
        assert!(self.valid(to));
        // SAFETY: valid (asserted above) and owned by the caller; the only slice of that buffer, it ends with this call.
        fill(unsafe { self.bytes_mut(to, self.buf_size as usize) })
    }

    /// Lets `look` read the bytes of `from`, a slot that the caller owns; returns what it returns.
    ///
    /// # Panics
    /// When the slot is not valid.
    #[inline]
    pub(crate) fn look_at<T>(&self, from: Slot, look: impl FnOnce(&[u8]) -> T) -> T {
        assert!(self.valid(from));
        // SAFETY: valid (asserted above) and owned by the caller; the slice ends with this call.
        look(unsafe { self.bytes(from) })
    }

    /// Copies the bytes of `from`, a slot that the caller owns, to the start of `out`.
    ///
    /// # Panics
    /// When the slot is not valid or its bytes are more than fit.
    #[inline]
    pub(crate) fn load(&self, from: Slot, out: &mut [u8]) {
        assert!(self.valid(from));
        // SAFETY: valid (asserted above) and owned by the caller; the slice ends with this call.
        out[..from.len as usize].copy_from_slice(unsafe { self.bytes(from) });
    }

    /// Appends the bytes of `from`, a slot that the caller owns, to `out`.
    ///
    /// # Panics
    /// When the slot is not valid.
    pub(crate) fn read(&self, from: Slot, out: &mut Vec<u8>) {
        assert!(self.valid(from));
        // SAFETY: valid (asserted above) and owned by the caller; the slice ends with this call.
        out.extend_from_slice(unsafe { self.bytes(from) });
    }

    /// Appends the frame at `at`, which ends before `end`, to `out`; returns its slots, and whether they are valid and
    /// no more than a frame may have.
    pub(crate) fn gather(&self, mut at: u32, end: u32, out: &mut Vec<u8>) -> (u32, bool) {
        let (mut slots, mut good) = (0, true);
        while at != end {
            let s = self.slot(at);
            good &= self.valid(s);
            if good {
                self.read(s, out);
            }
            slots += 1;
            at = self.next(at);
            if !s.more() {
                return (slots, good && slots <= MAX_CHAIN);
            }
        }
        (slots, false)
    }

    /// Slots from `from` up to and without `to`.
    #[inline]
    pub(crate) fn dist(&self, from: u32, to: u32) -> u32 {
        cursor::dist(from, to, self.num)
    }

    #[inline]
    pub(crate) fn next(&self, i: u32) -> u32 {
        cursor::next(i, self.num)
    }

    #[inline]
    pub(crate) fn prev(&self, i: u32) -> u32 {
        cursor::prev(i, self.num)
    }
}
