//! One direction of a `fault:` port: frames go from the slots of one ring to the slots of another,
//! some of them changed.
//!
//! ```text
//!  source slots -> fate -> held back (reorder) -> queue (delay, no room) -> free slots
//!                    \------------- exchange of buffers --------------/
//! ```
//!
//! Time is passed in, so that what happens depends on the arguments alone.

use std::collections::VecDeque;

use super::fault_rng::FaultRng;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG};
use crate::count::{DropReason, Field, RingStats};
use crate::port::name::FaultOptions;
use crate::ring::Span;

/// Bytes of delayed frames of one ring that may wait in memory, each with 64 bytes of its own.
/// While there are more, further frames stay in the ring they come from.
pub(super) const QUEUE_BYTES: usize = 16 << 20;

/// What a waiting frame costs beyond its bytes.
const OVERHEAD: usize = 64;

/// How long a frame is held back for others that do not come, in ns.
pub(super) const HOLD_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(super) struct ShadowRing {
    rates: FaultOptions,
    delay_ns: u64,
    rng: FaultRng,
    /// Frames whose fate was decided.
    entered: u64,
    held: VecDeque<Held>,
    queue: VecDeque<Queued>,
    queue_bytes: usize,
    frame: Vec<u8>,
    stats: RingStats,
}

/// A frame that others are to pass.
#[derive(Debug)]
struct Held {
    /// Released when this many frames have entered.
    until: u64,
    /// Or at this time.
    deadline_ns: u64,
    copies: u32,
    bytes: Box<[u8]>,
}

/// A frame on its way out.
#[derive(Debug)]
struct Queued {
    due_ns: u64,
    bytes: Box<[u8]>,
}

impl ShadowRing {
    /// The shadow of one ring. The caller of [`run`](Self::run) writes `stats`.
    pub(super) fn new(rates: FaultOptions, ring: u64, stats: RingStats) -> Self {
        Self {
            delay_ns: rates.delay.as_nanos() as u64,
            rng: FaultRng::new(rates.seed, ring),
            rates,
            entered: 0,
            held: VecDeque::new(),
            queue: VecDeque::new(),
            queue_bytes: 0,
            frame: Vec::new(),
            stats,
        }
    }

    /// Moves on what is due and takes frames from `src`, as far as `dst` and memory have room. `last`: `src` holds all
    /// that will ever come.
    pub(super) fn run(&mut self, src: &mut Span<'_>, dst: &mut Span<'_>, now_ns: u64, last: bool) {
        while self.held.front().is_some_and(|h| h.deadline_ns <= now_ns) {
            self.unhold(now_ns);
        }
        self.release(dst, now_ns);
        while src.at != src.end && self.accepts(dst) {
            self.take(src, dst, now_ns);
            self.release(dst, now_ns);
        }
        while last && src.at == src.end && !self.held.is_empty() {
            self.unhold(now_ns);
        }
        self.release(dst, now_ns);
    }

    /// Whether no frame waits here.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.held.is_empty()
    }

    /// Whether there is room for frames that wait elsewhere.
    pub(super) fn has_memory(&self) -> bool {
        if self.delay_ns == 0 { self.queue.is_empty() } else { self.queue_bytes < QUEUE_BYTES }
    }

    /// Nanoseconds until a frame here moves by itself.
    pub(super) fn next_in(&self, now_ns: u64) -> Option<u64> {
        let due = self.queue.front().map(|q| q.due_ns);
        let deadline = self.held.front().map(|h| h.deadline_ns);
        due.into_iter().chain(deadline).min().map(|t| t.saturating_sub(now_ns))
    }

    fn accepts(&self, dst: &Span<'_>) -> bool {
        self.has_memory() && (self.delay_ns > 0 || dst.at != dst.end)
    }

    /// Decides about the frame at the front of `src`.
    fn take(&mut self, src: &mut Span<'_>, dst: &mut Span<'_>, now_ns: u64) {
        self.stats.count(Field::In, 1);
        let s = src.view.slot(src.at);
        let one = !s.more() && src.view.valid(s);
        self.frame.clear();
        let (slots, good) = if one { (1, true) } else { src.view.gather(src.at, src.end, &mut self.frame) };
        let at = src.at;
        src.at = cursor::add(at, slots, src.view.num());
        if !good {
            self.stats.drop(DropReason::BadSlot, 1);
            return;
        }
        let number = self.entered;
        self.entered += 1;
        let fate = self.rng.roll(&self.rates);
        if fate.drop {
            self.stats.drop(DropReason::Injected, 1);
        } else if !(one && fate.plain() && self.delay_ns == 0 && pass(src, at, s, dst, &self.stats)) {
            if one {
                src.view.read(s, &mut self.frame);
            }
            let mut bytes: Box<[u8]> = self.frame.as_slice().into();
            if let Some(bit) = fate.corrupt {
                flip(&mut bytes, bit);
            }
            let copies = 1 + u32::from(fate.dup);
            self.stats.count(Field::In, u64::from(copies) - 1);
            if fate.reorder {
                let until = self.entered + u64::from(self.rates.by);
                self.held.push_back(Held { until, deadline_ns: now_ns + HOLD_NS, copies, bytes });
            } else {
                self.enqueue(bytes, copies, now_ns);
            }
        }
        while self.held.front().is_some_and(|h| h.until <= number + 1) {
            self.unhold(now_ns);
        }
    }

    fn unhold(&mut self, now_ns: u64) {
        if let Some(Held { copies, bytes, .. }) = self.held.pop_front() {
            self.enqueue(bytes, copies, now_ns);
        }
    }

    fn enqueue(&mut self, bytes: Box<[u8]>, copies: u32, now_ns: u64) {
        let due_ns = now_ns + self.delay_ns;
        self.queue_bytes += copies as usize * (bytes.len() + OVERHEAD);
        for _ in 1..copies {
            self.queue.push_back(Queued { due_ns, bytes: bytes.clone() });
        }
        self.queue.push_back(Queued { due_ns, bytes });
    }

    /// Puts frames that are due into `dst` while it has room.
    fn release(&mut self, dst: &mut Span<'_>, now_ns: u64) {
        while let Some(q) = self.queue.front() {
            if q.due_ns > now_ns || !put(&q.bytes, dst, &self.stats) {
                return;
            }
            self.queue_bytes -= q.bytes.len() + OVERHEAD;
            self.queue.pop_front();
        }
    }
}

impl Drop for ShadowRing {
    /// Frames that wait when the port is closed are lost, by name.
    fn drop(&mut self) {
        let held: u64 = self.held.iter().map(|h| u64::from(h.copies)).sum();
        self.stats.drop(DropReason::Injected, held + self.queue.len() as u64);
    }
}

fn flip(bytes: &mut [u8], bit: u64) {
    if let Some(bit) = bit.checked_rem(8 * bytes.len() as u64) {
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

/// Moves the frame of valid slot `s`, at `at` of `src`, into the next slot of `dst`: by an exchange of buffers within
/// a region, else by a copy. False when there is no room or the slot can't take it.
#[inline]
fn pass(src: &Span<'_>, at: u32, s: Slot, dst: &mut Span<'_>, stats: &RingStats) -> bool {
    if dst.at == dst.end {
        return false;
    }
    let d = Slot { len: 0, ..dst.view.slot(dst.at) };
    if !dst.view.valid(d) || u32::from(s.len) > dst.view.buf_size() {
        return false;
    }
    if src.view.region().ptr_eq(dst.view.region()) {
        src.view.set_slot(at, Slot { buf: d.buf, len: 0, flags: NS_BUF_CHANGED });
        dst.view.set_slot(dst.at, Slot { buf: s.buf, len: s.len, flags: NS_BUF_CHANGED });
    } else {
        let d = Slot { buf: d.buf, len: s.len, flags: 0 };
        dst.view.copy_from(d, src.view, s);
        dst.view.set_slot(dst.at, d);
    }
    dst.at = dst.view.next(dst.at);
    stats.count(Field::Out, 1);
    stats.count(Field::Bytes, u64::from(s.len));
    true
}

/// Writes a frame into slots of `dst`, or drops one that never fits; false when there is no room
/// now. A slot with a bad index keeps it, so that the reader of the ring drops the frame by name.
fn put(bytes: &[u8], dst: &mut Span<'_>, stats: &RingStats) -> bool {
    let (view, size) = (dst.view, dst.view.buf_size() as usize);
    let need = bytes.len().div_ceil(size).max(1) as u32;
    if need > MAX_CHAIN || need >= view.num() {
        stats.drop(DropReason::TooLong, 1);
        return true;
    }
    if need > view.dist(dst.at, dst.end) {
        return false;
    }
    for k in 0..need as usize {
        let part = &bytes[k * size..bytes.len().min((k + 1) * size)];
        let flags = if k + 1 < need as usize { NS_MOREFRAG } else { 0 };
        let d = Slot { len: part.len() as u16, flags, ..view.slot(dst.at) };
        if view.valid(d) {
            view.write(d, part);
        }
        view.set_slot(dst.at, d);
        dst.at = view.next(dst.at);
    }
    stats.count(Field::Out, 1);
    stats.count(Field::Bytes, bytes.len() as u64);
    true
}
