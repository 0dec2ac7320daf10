//! The sending side of a port.

use std::os::fd::{AsFd, BorrowedFd};

use super::owned::{Owned, RingParts, Span};
use super::sync::TxSync;
use super::view::RingView;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::abi::layout::{MAX_CHAIN, NS_BUF_CHANGED, NS_MOREFRAG, NS_OFFLOAD};
use crate::error::Result;
use crate::memory::{Buf, BufToken, Region};

/// A ring of free slots to fill and send.
///
/// ```
/// let mut port = ringway::Port::open("null:")?;
/// let mut burst = port.tx[0].burst();
/// while let Some(mut slot) = burst.next_slot() {
///     slot.buf()[..14].fill(0xff);
///     slot.send(14);
/// }
/// burst.commit();
/// port.tx[0].sync()?;
/// assert_eq!(port.counters().tx.frames_out, u64::from(port.tx[0].slots()) - 1);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct TxRing {
    pub(super) ring: Owned,
    pub(super) backend: Box<dyn TxSync>,
}

impl TxRing {
    pub(crate) fn new(parts: RingParts, backend: Box<dyn TxSync>) -> Self {
        Self { ring: Owned::resume(parts), backend }
    }

    /// Sends the filled slots and collects the free ones; returns the slots free now.
    ///
    /// # Errors
    /// When the port is gone or its interface refuses; frames not sent stay in the ring or are counted by name.
    pub fn sync(&mut self) -> Result<u32> {
        let head = self.ring.head();
        let tail = self.backend.sync(&self.ring.view, head)?;
        Ok(self.ring.publish(head, tail))
    }

    /// Slots free to fill without another sync.
    #[must_use]
    pub fn free(&mut self) -> u32 {
        let head = self.ring.head();
        self.ring.view.dist(head, self.ring.tail)
    }

    /// Slots filled but not yet taken over by the other side.
    #[must_use]
    pub fn pending(&mut self) -> u32 {
        let free = self.free();
        self.ring.view.num() - 1 - free
    }

    /// Access to the free slots. What is sent to a burst belongs to the ring when the burst is
    /// [committed](TxBurst::commit) or dropped.
    pub fn burst(&mut self) -> TxBurst<'_> {
        let head = self.ring.head();
        TxBurst { view: &self.ring.view, head, tail: self.ring.tail }
    }

    /// Has the CPU fetch the beginning of the next free buffers, `max` at most. It helps a program
    /// that will soon write frames to them: lines that another CPU read last are taken from it
    /// meanwhile. Changes nothing else.
    ///
    /// ```
    /// let mut port = ringway::Port::open("loop:")?;
    /// port.tx[0].fetch(16);
    /// assert!(port.tx[0].push(&[7; 60]));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn fetch(&mut self, max: u32) {
        let head = self.ring.head();
        let view = &self.ring.view;
        for k in 0..view.dist(head, self.ring.tail).min(max) {
            view.fetch(cursor::add(head, k, view.num()), true);
        }
    }

    /// Puts a frame of any length into the ring, over several slots if need be; false when it does not fit now.
    pub fn push(&mut self, frame: &[u8]) -> bool {
        self.burst().push(frame)
    }

    /// Asks for a wake-up when a slot becomes free; true, and no wake-up, when one is free already.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn arm(&mut self) -> Result<bool> {
        if self.free() > 0 {
            return Ok(true);
        }
        self.backend.arm(&self.ring.view)
    }

    /// Asks for a wake-up when the other side takes some of the [`pending`](Self::pending) slots; true, and no wake-up,
    /// when none is pending.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn arm_pending(&mut self) -> Result<bool> {
        if self.pending() == 0 {
            return Ok(true);
        }
        self.backend.arm(&self.ring.view)
    }

    /// Whether [`as_fd`](AsFd::as_fd) is ever unreadable.
    pub(crate) fn waits(&self) -> bool {
        self.backend.waits()
    }

    /// Number of slots; one stays unused.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.ring.view.num()
    }

    /// The region that the ring lies in.
    #[must_use]
    pub fn region(&self) -> &Region {
        self.ring.view.region()
    }

    /// Whether a frame may carry what is left to be done on it.
    pub(super) fn takes_offload(&self) -> bool {
        self.backend.takes_offload()
    }

    /// All that [`as_fd`](AsFd::as_fd) stands for.
    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.backend.fds()
    }

    /// Puts what `wrap` makes between the ring and its backend.
    pub(crate) fn wrap(mut self, wrap: impl FnOnce(u32, Box<dyn TxSync>) -> Box<dyn TxSync>) -> Self {
        self.backend = wrap(self.ring.head(), self.backend);
        self
    }

    /// The free slots. A caller that fills some sets the head of the view behind them.
    pub(crate) fn room(&mut self) -> Span<'_> {
        let at = self.ring.head();
        Span { view: &self.ring.view, at, end: self.ring.tail }
    }

    pub(super) fn parts(&mut self) -> (u32, u32, &RingView) {
        let head = self.ring.head();
        (head, self.ring.tail, &self.ring.view)
    }
}

impl AsFd for TxRing {
    /// A descriptor that becomes readable when a slot is free; ask with [`arm`](Self::arm) before each sleep.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.backend.fd()
    }
}

/// Free slots of a tx ring, filled one after the other.
#[derive(Debug)]
pub struct TxBurst<'a> {
    view: &'a RingView,
    head: u32,
    tail: u32,
}

impl<'a> TxBurst<'a> {
    /// Slots `[head, tail)` of a ring, which the caller owns.
    pub(super) fn over(view: &'a RingView, head: u32, tail: u32) -> Self {
        Self { view, head, tail }
    }

    /// Where the free slots begin now.
    pub(super) fn at(&self) -> u32 {
        self.head
    }

    /// Slots left.
    #[inline]
    #[must_use]
    pub fn free(&self) -> u32 {
        self.view.dist(self.head, self.tail)
    }

    /// The next free slot. A slot that is dropped instead of sent stays free.
    #[inline]
    pub fn next_slot(&mut self) -> Option<TxSlot<'_, 'a>> {
        let slot = self.usable()?;
        Some(TxSlot { burst: self, slot })
    }

    /// The slot at head; one whose index was overwritten is passed on empty, for the other side to count.
    #[inline]
    fn usable(&mut self) -> Option<Slot> {
        while self.head != self.tail {
            let slot = Slot { len: 0, flags: 0, ..self.view.slot(self.head) };
            if self.view.valid(slot) {
                return Some(slot);
            }
            self.pass(slot);
        }
        None
    }

    #[inline]
    fn pass(&mut self, slot: Slot) {
        self.view.set_slot(self.head, slot);
        self.head = self.view.next(self.head);
    }

    /// Gives what was sent to the burst to the ring, as dropping it does, so that the ring can be synced; returns the slots
    /// that are still free.
    ///
    /// ```
    /// let mut port = ringway::Port::open("null:")?;
    /// let mut burst = port.tx[0].burst();
    /// assert!(burst.push(&[0xff; 60]));
    /// burst.commit();
    /// port.tx[0].sync()?;
    /// assert_eq!(port.counters().tx.frames_out, 1);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn commit(self) -> u32 {
        self.free()
    }

    /// Puts a frame into one slot or, when it is longer than a buffer, into several; false when it does not fit.
    pub fn push(&mut self, frame: &[u8]) -> bool {
        let size = self.view.buf_size() as usize;
        let slots = frame.len().div_ceil(size).max(1) as u32;
        if slots > MAX_CHAIN || slots > self.free() {
            return false;
        }
        if slots == 1 {
            let Some(mut slot) = self.next_slot() else { return false };
            slot.buf()[..frame.len()].copy_from_slice(frame);
            slot.send(frame.len());
            return true;
        }
        self.push_chain(frame, size)
    }

    #[cold]
    fn push_chain(&mut self, frame: &[u8], size: usize) -> bool {
        let mut at = self.head;
        let last = frame.len().div_ceil(size) - 1;
        for (k, part) in frame.chunks(size).enumerate() {
            let more = if k < last { NS_MOREFRAG } else { 0 };
            let slot = Slot { len: part.len() as u16, flags: more, ..self.view.slot(at) };
            if self.view.valid(slot) {
                // SAFETY: the slot lies in `[head, tail)`, which is ours, and is valid; no other slice is alive.
                unsafe { self.view.bytes_mut(slot, part.len()) }.copy_from_slice(part);
            }
            self.view.set_slot(at, slot);
            at = self.view.next(at);
        }
        self.head = at;
        true
    }
}

impl Drop for TxBurst<'_> {
    /// Passes the slots that were filled, all at once: no part of a chain is ever seen alone.
    #[inline]
    fn drop(&mut self) {
        self.view.set_head(self.head);
    }
}

/// A free slot, held exclusively.
#[derive(Debug)]
pub struct TxSlot<'b, 'a> {
    burst: &'b mut TxBurst<'a>,
    slot: Slot,
}

impl TxSlot<'_, '_> {
    /// The whole buffer, to write the frame to. It holds old bytes.
    #[inline]
    pub fn buf(&mut self) -> &mut [u8] {
        let view = self.burst.view;
        // SAFETY: `slot` was found valid; it lies in `[head, tail)`, which is ours until head passes it. No other slot of the
        // program names its buffer (see `RingView`), and the exclusive borrow of the burst makes this the only slice.
        unsafe { view.bytes_mut(self.slot, view.buf_size() as usize) }
    }

    /// Passes the slot on with a frame of `len` bytes; it leaves with the next sync.
    ///
    /// # Panics
    /// When `len` is larger than the buffer.
    #[inline]
    pub fn send(self, len: usize) {
        assert!(len <= self.burst.view.buf_size() as usize, "frame of {len} bytes in a smaller buffer");
        let slot = Slot { len: len as u16, flags: self.slot.flags, ..self.slot };
        self.burst.pass(slot);
    }

    /// Sets netmap's flags of the slot, `NS_` in [`layout`](crate::abi::layout): [`NS_MOREFRAG`]
    /// when the frame goes on in the next slot, and for ports of a switch
    /// [`NS_NO_LEARN`](crate::abi::layout::NS_NO_LEARN) and the
    /// [destination](crate::abi::layout::NS_PORT_SHIFT). Other ports ignore flags that they do not
    /// know.
    ///
    /// All slots of one frame must be sent to the same burst.
    ///
    /// ```
    /// use ringway::layout::NS_MOREFRAG;
    /// let mut port = ringway::Port::open("null:")?;
    /// let mut burst = port.tx[0].burst();
    /// for flags in [NS_MOREFRAG, 0] {
    ///     let mut slot = burst.next_slot().expect("the ring is empty");
    ///     slot.buf()[..100].fill(0);
    ///     slot.set_flags(flags);
    ///     slot.send(100);
    /// }
    /// burst.commit();
    /// port.tx[0].sync()?;
    /// assert_eq!(port.counters().tx.frames_out, 1);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn set_flags(&mut self, flags: u16) {
        self.slot.flags = self.slot.flags & NS_BUF_CHANGED | flags & !NS_OFFLOAD;
    }

    /// Trades the slot's buffer for the one that `buf` holds; false, and nothing done, for a token of another
    /// region.
    pub fn exchange(&mut self, buf: &mut Buf) -> bool {
        if !buf.region().ptr_eq(self.burst.view.region()) {
            return false;
        }
        let idx = buf.replace_index(self.slot.buf);
        self.put(idx);
        true
    }

    /// The same with a small token.
    #[doc(hidden)]
    #[inline]
    pub fn exchange_token(&mut self, token: &mut BufToken) -> bool {
        let Some(idx) = token.replace_index(self.burst.view.region(), self.slot.buf) else { return false };
        self.put(idx);
        true
    }

    /// The slot gets a buffer that nobody else has.
    #[inline]
    fn put(&mut self, buf: u32) {
        self.slot.buf = buf;
        self.slot.flags |= NS_BUF_CHANGED;
        // Written at once, so that a slot that is dropped without `send` owns the buffer it was given.
        self.burst.view.set_slot(self.burst.head, self.slot);
    }
}
