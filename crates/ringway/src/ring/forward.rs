//! Moving frames from an rx ring to a tx ring: by exchanging buffers within a region, by copying between two.

use super::rx::RxRing;
use super::tx::TxRing;
use super::view::RingView;
use crate::abi::Slot;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG};
use crate::count::{DropReason, RingStats};

/// How [`forward`] moves frames from one ring to another: once for a pair, not per frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Both rings lie in one region: slots exchange buffer indexes, no byte of a frame is touched.
    Swap,
    /// The rings lie in two regions: frames are copied.
    Copy,
}

impl Pairing {
    /// What these two rings allow.
    ///
    /// ```
    /// use ringway::{Pairing, Port};
    /// let (a, b) = (Port::open("loop:")?, Port::open("loop:")?);
    /// assert_eq!(Pairing::of(&a.rx[0], &a.tx[0]), Pairing::Swap);
    /// assert_eq!(Pairing::of(&a.rx[0], &b.tx[0]), Pairing::Copy);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[must_use]
    pub fn of(rx: &RxRing, tx: &TxRing) -> Self {
        if rx.region().ptr_eq(tx.region()) { Self::Swap } else { Self::Copy }
    }
}

/// Moves up to `max` slots from `rx` to `tx`, as far as both have room; returns the slots moved.
///
/// Frames keep their order; a frame of several slots moves whole or not at all. Neither ring is synced.
/// Slots of one region exchange buffers ([`Pairing::Swap`]), and frames are copied between two. A slot with a bad index or length is dropped
/// and counted as `bad_slot` on `rx`; a frame longer than the slots of `tx` can hold counts as `too_long`. A super-frame
/// that is carried whole ([`Gso::Carry`](crate::Gso::Carry)) keeps its [`Offload`](ringway_wire::offload::Offload) when the port
/// of `tx` takes one, and counts as `bad_offload` otherwise.
pub fn forward(rx: &mut RxRing, tx: &mut TxRing, max: u32) -> u32 {
    let swap = Pairing::of(rx, tx) == Pairing::Swap;
    let (mut from, end, rv, stats) = rx.parts();
    let takes_offload = tx.takes_offload();
    let (mut to, free_end, tv) = tx.parts();
    let same_size = rv.buf_size() <= tv.buf_size();
    let (first_from, first_to) = (from, to);
    let mut left = max;
    while left > 0 && from != end && to != free_end {
        let s = rv.slot(from);
        let d = tv.slot(to);
        if s.more() || s.offload() || !rv.valid(s) || !tv.valid(Slot { len: 0, ..d }) || !same_size {
            let free = Free { view: tv, at: to, end: free_end, takes_offload };
            let Some((read, written)) = slow(rv, from, end, &free, stats) else { break };
            from = crate::abi::cursor::add(from, read, rv.num());
            to = crate::abi::cursor::add(to, written, tv.num());
            left = left.saturating_sub(read);
            continue;
        }
        if swap {
            rv.set_slot(from, Slot { buf: d.buf, len: 0, flags: NS_BUF_CHANGED });
            tv.set_slot(to, Slot { buf: s.buf, len: s.len, flags: NS_BUF_CHANGED });
        } else {
            let d = Slot { buf: d.buf, len: s.len, flags: 0 };
            tv.copy_from(d, rv, s);
            tv.set_slot(to, d);
        }
        from = rv.next(from);
        to = tv.next(to);
        left -= 1;
    }
    if swap && rv.has_own_words() {
        show_exchanged(rv, (first_from, from), tv, (first_to, to));
    }
    rv.set_head(from);
    tv.set_head(to);
    max - left
}

/// Has the region say which slots have which buffers now. Pair by pair, so that a process that is killed here leaves one pair
/// half exchanged at most.
#[cold]
fn show_exchanged(rv: &RingView, read: (u32, u32), tv: &RingView, written: (u32, u32)) {
    let (mut from, mut to) = (read.0, written.0);
    while from != read.1 || to != written.1 {
        if from != read.1 {
            rv.show(from);
            from = rv.next(from);
        }
        if to != written.1 {
            tv.show(to);
            to = tv.next(to);
        }
    }
}

/// Where a frame may go.
struct Free<'a> {
    view: &'a RingView,
    at: u32,
    end: u32,
    takes_offload: bool,
}

/// One frame that is not plain: a chain, a bad slot, one with work left to be done, or a tx ring of smaller buffers.
/// Copies it; returns the slots read and written, or `None` when there is no room now.
#[cold]
fn slow(rv: &RingView, from: u32, end: u32, free: &Free<'_>, stats: &RingStats) -> Option<(u32, u32)> {
    let (tv, to) = (free.view, free.at);
    let (read, total) = match rv.measure(from, end) {
        Ok(frame) => frame,
        Err(read) => {
            stats.undeliver(DropReason::BadSlot);
            return Some((read, 0));
        }
    };
    // Read once: the first slot has it.
    let offload = rv.slot(from).offload().then(|| rv.offload_word(from));
    if offload.is_some() && !free.takes_offload {
        stats.undeliver(DropReason::BadOffload);
        return Some((read, 0));
    }
    let need = total.div_ceil(tv.buf_size() as usize).max(1) as u32;
    if need > MAX_CHAIN || need >= tv.num() {
        stats.undeliver(DropReason::TooLong);
        return Some((read, 0));
    }
    if need > tv.dist(to, free.end) {
        return None;
    }
    let mut parts = Parts { view: rv, at: from, slots: read, part: &[] };
    write_chain(&mut parts, total, tv, to, need);
    if let Some(word) = offload {
        tv.set_offload(to, word);
    }
    Some((read, need))
}

/// The bytes of a chain, read on from where the last read ended.
struct Parts<'a> {
    view: &'a RingView,
    at: u32,
    slots: u32,
    part: &'a [u8],
}

impl Parts<'_> {
    /// Fills `out`. Should the slots have changed since they were measured, the rest of `out` stays as it is.
    fn read(&mut self, out: &mut [u8]) {
        let mut done = 0;
        while done < out.len() {
            if self.part.is_empty() && !self.next_part() {
                return;
            }
            let n = self.part.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&self.part[..n]);
            self.part = &self.part[n..];
            done += n;
        }
    }

    fn next_part(&mut self) -> bool {
        if self.slots == 0 {
            return false;
        }
        let s = self.view.slot(self.at);
        self.at = self.view.next(self.at);
        self.slots -= 1;
        if self.view.valid(s) {
            // SAFETY: a slot between head and tail of an rx ring that `forward` holds exclusively, and valid.
            self.part = unsafe { self.view.bytes(s) };
        }
        true
    }
}

/// Writes `total` bytes to `need` slots from `to`. A tx slot with a bad index keeps it, so that the other side
/// drops the frame by name.
fn write_chain(parts: &mut Parts<'_>, total: usize, tv: &RingView, mut to: u32, need: u32) {
    let size = tv.buf_size() as usize;
    for k in 0..need {
        let len = size.min(total - k as usize * size);
        let flags = if k + 1 < need { NS_MOREFRAG } else { 0 };
        let d = Slot { len: len as u16, flags, ..tv.slot(to) };
        if tv.valid(d) {
            // SAFETY: a slot between head and tail of a tx ring that `forward` holds exclusively, and valid.
            parts.read(unsafe { tv.bytes_mut(d, len) });
        }
        tv.set_slot(to, d);
        to = tv.next(to);
    }
}
