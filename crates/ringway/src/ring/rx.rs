//! The receiving side of a port.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::owned::{Owned, RingParts, Span};
use super::sync::RxSync;
use super::view::RingView;
use crate::abi::Slot;
use crate::abi::cursor;
use crate::count::{DropReason, RingStats};
use crate::error::Result;
use crate::memory::{Buf, BufToken, Region};
use ringway_wire::offload::Offload;

/// A ring of received frames.
///
/// ```
/// let mut port = ringway::Port::open("loop:")?;
/// assert!(port.tx[0].push(b"a frame of at least 14 bytes"));
/// port.tx[0].sync()?;
/// port.rx[0].sync()?;
/// for frame in port.rx[0].burst(64) {
///     assert_eq!(frame.bytes(), b"a frame of at least 14 bytes");
/// }
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct RxRing {
    pub(super) ring: Owned,
    pub(super) backend: Box<dyn RxSync>,
}

impl RxRing {
    pub(crate) fn new(parts: RingParts, backend: Box<dyn RxSync>) -> Self {
        Self { ring: Owned::resume(parts), backend }
    }

    /// Gives passed slots back and collects new frames; returns the slots ready to read.
    ///
    /// # Errors
    /// When the port is gone or its interface refuses; the ring stays usable.
    pub fn sync(&mut self) -> Result<u32> {
        let head = self.ring.head();
        let tail = self.backend.sync(&self.ring.view, head)?;
        self.ring.view.stamp();
        Ok(self.ring.publish(head, tail))
    }

    /// Slots ready to read without another sync.
    #[must_use]
    pub fn avail(&mut self) -> u32 {
        let head = self.ring.head();
        self.ring.view.dist(head, self.ring.tail)
    }

    /// The next frames, `max` at most. Each frame that is taken from the burst is passed: its slot goes back at
    /// the next [`sync`](Self::sync); frames not taken stay for the next burst.
    pub fn burst(&mut self, max: u32) -> RxBurst<'_> {
        let head = self.ring.head();
        RxBurst { view: &self.ring.view, stats: &self.ring.stats, head, tail: self.ring.tail, left: max }
    }

    /// The next frame, which is not passed: the next burst begins with it.
    ///
    /// ```
    /// let mut port = ringway::Port::open("loop:")?;
    /// assert!(port.tx[0].push(b"a frame of at least 14 bytes"));
    /// port.tx[0].sync()?;
    /// port.rx[0].sync()?;
    /// assert_eq!(port.rx[0].peek().map(|f| f.len()), Some(28));
    /// assert_eq!(port.rx[0].avail(), 1);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    #[inline]
    pub fn peek(&mut self) -> Option<RxFrame<'_>> {
        let mut burst = self.burst(u32::MAX);
        let frame = burst.next();
        if let Some(frame) = &frame {
            burst.head = frame.at;
        }
        frame
    }

    /// Has the CPU fetch the beginning of the next frames, `max` at most. It helps a program that
    /// does more with each frame than look at it: bytes that another CPU has written come
    /// meanwhile. Changes nothing else.
    ///
    /// ```
    /// let mut port = ringway::Port::open("loop:")?;
    /// assert!(port.tx[0].push(&[7; 60]));
    /// port.tx[0].sync()?;
    /// port.rx[0].sync()?;
    /// port.rx[0].fetch(16);
    /// assert_eq!(port.rx[0].burst(16).next().map(|f| f.bytes()[0]), Some(7));
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn fetch(&mut self, max: u32) {
        let head = self.ring.head();
        let view = &self.ring.view;
        for k in 0..view.dist(head, self.ring.tail).min(max) {
            view.fetch(cursor::add(head, k, view.num()), false);
        }
    }

    /// Asks for a wake-up: from now on [`as_fd`](AsFd::as_fd) becomes readable when a frame
    /// arrives, until the next sync. Returns true, and asks for nothing, when frames are there
    /// already. It also returns true when it pays to look again at once. While a switch withholds
    /// the port's doorbell ([`Counters::wakeups_withheld`](crate::Counters::wakeups_withheld)) it
    /// sleeps for a millisecond at most before that.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn arm(&mut self) -> Result<bool> {
        if self.avail() > 0 {
            return Ok(true);
        }
        self.backend.arm(&self.ring.view)
    }

    /// Wall-clock time of the last sync since 1970, to the microsecond.
    #[must_use]
    pub fn timestamp(&self) -> Duration {
        let (s, us) = self.ring.view.timestamp();
        Duration::new(s.unsigned_abs(), (us.unsigned_abs() % 1_000_000) as u32 * 1000)
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

    /// All that [`as_fd`](AsFd::as_fd) stands for.
    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.backend.fds()
    }

    /// Puts what `wrap` makes between the ring and its backend.
    pub(crate) fn wrap(mut self, wrap: impl FnOnce(Span<'_>, Box<dyn RxSync>) -> Box<dyn RxSync>) -> Self {
        let at = self.ring.head();
        let ready = Span { view: &self.ring.view, at, end: self.ring.tail };
        self.backend = wrap(ready, self.backend);
        self
    }

    /// The frames ready to read. A caller that takes some sets the head of the view behind them.
    pub(crate) fn ready(&mut self) -> Span<'_> {
        let at = self.ring.head();
        Span { view: &self.ring.view, at, end: self.ring.tail }
    }

    pub(super) fn parts(&mut self) -> (u32, u32, &RingView, &RingStats) {
        let head = self.ring.head();
        (head, self.ring.tail, &self.ring.view, &self.ring.stats)
    }
}

impl AsFd for RxRing {
    /// A descriptor for poll, select or epoll; ask with [`arm`](Self::arm) before each sleep.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.backend.fd()
    }
}

/// Received frames of one burst; an iterator.
#[derive(Debug)]
pub struct RxBurst<'a> {
    view: &'a RingView,
    stats: &'a RingStats,
    head: u32,
    tail: u32,
    left: u32,
}

impl RxBurst<'_> {
    /// Slots from `head` that one frame takes, and whether it is whole and all of them are valid.
    #[cold]
    fn walk(&self) -> (u32, bool) {
        match self.view.measure(self.head, self.tail) {
            Ok((slots, _)) => (slots, true),
            Err(slots) => (slots, false),
        }
    }
}

impl<'a> Iterator for RxBurst<'a> {
    type Item = RxFrame<'a>;

    #[inline]
    fn next(&mut self) -> Option<RxFrame<'a>> {
        while self.left > 0 && self.head != self.tail {
            let at = self.head;
            let slot = self.view.slot(at);
            let (slots, good) = if slot.more() { self.walk() } else { (1, self.view.valid(slot)) };
            self.head = cursor::add(at, slots, self.view.num());
            self.left -= 1;
            if good {
                return Some(RxFrame { view: self.view, at, slot, slots });
            }
            self.stats.undeliver(DropReason::BadSlot);
        }
        None
    }
}

impl Drop for RxBurst<'_> {
    /// Passes the frames that were taken.
    #[inline]
    fn drop(&mut self) {
        self.view.set_head(self.head);
    }
}

/// A received frame: one slot, or several when it is longer than a buffer.
///
/// It may be used until the next sync of its ring, also after later frames of the burst have been taken.
#[derive(Debug)]
pub struct RxFrame<'a> {
    view: &'a RingView,
    at: u32,
    slot: Slot,
    slots: u32,
}

impl<'a> RxFrame<'a> {
    /// The frame in so many slots from `at`, which are whole and valid.
    pub(super) fn at(view: &'a RingView, at: u32, slots: u32) -> Self {
        Self { view, at, slot: view.slot(at), slots }
    }
}

impl RxFrame<'_> {
    /// The bytes of the frame, or of its first slot when [`is_chained`](Self::is_chained).
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `slot` was found valid when the frame was taken; the slot is ours until the ring's next sync,
        // which needs the ring that `view` borrows from.
        unsafe { self.view.bytes(self.slot) }
    }

    /// The same bytes, to change in place.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, no other slot of the program names this buffer (see `RingView`), and `&mut self` is the only
        // access to this frame.
        unsafe { self.view.bytes_mut(self.slot, self.slot.len as usize) }
    }

    /// Whether the frame spans several slots.
    #[inline]
    #[must_use]
    pub fn is_chained(&self) -> bool {
        self.slots > 1
    }

    /// The parts of the frame in order, one per slot.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.slots).map(move |k| {
            let n = self.view.num();
            let s = if k == 0 { self.slot } else { self.view.slot(cursor::add(self.at, k, n)) };
            if !self.view.valid(s) {
                return &[][..];
            }
            // SAFETY: `s` is valid, checked just above on this very value; ownership as in `bytes`.
            unsafe { self.view.bytes(s) }
        })
    }

    /// Bytes of the whole frame, without FCS.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.slots == 1 { self.slot.len as usize } else { self.parts().map(<[u8]>::len).sum() }
    }

    /// What is left to be done on a super-frame that the port carries whole, by choice: see
    /// [`Gso::Carry`](crate::Gso::Carry). `None` for all others, and for words that make no sense.
    #[must_use]
    pub fn offload(&self) -> Option<Offload> {
        let word = self.slot.offload().then(|| self.view.offload_word(self.at))?;
        Offload::from_word(word, self.len()).ok()
    }

    /// Whether the frame has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the frame to `out` as far as it goes; returns the bytes copied.
    pub fn copy_to(&self, out: &mut [u8]) -> usize {
        let mut done = 0;
        for part in self.parts() {
            let n = part.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&part[..n]);
            done += n;
        }
        done
    }

    /// Keeps the frame's buffer without a copy: `buf` takes it, and the slot gets the buffer that `buf` held.
    /// For frames of one slot; returns false, and does nothing, for others or for a token of another region.
    pub fn exchange(&mut self, buf: &mut Buf) -> bool {
        if self.slots != 1 || !buf.region().ptr_eq(self.view.region()) {
            return false;
        }
        let old = buf.replace_index(self.slot.buf);
        self.put(old);
        true
    }

    /// The same with a small token.
    #[doc(hidden)]
    #[inline]
    pub fn exchange_token(&mut self, token: &mut BufToken) -> bool {
        if self.slots != 1 {
            return false;
        }
        let Some(old) = token.replace_index(self.view.region(), self.slot.buf) else { return false };
        self.put(old);
        true
    }

    /// The slot gets a buffer that nobody else has; the buffer that it had has a new owner.
    #[inline]
    fn put(&mut self, buf: u32) {
        self.slot = Slot { buf, len: 0, flags: crate::abi::layout::NS_BUF_CHANGED };
        self.view.set_slot(self.at, self.slot);
    }
}
