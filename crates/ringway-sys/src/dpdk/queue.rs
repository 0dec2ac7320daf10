//! The two sides of a queue. Frames lie in DPDK's buffers, out of which and into which the caller copies them.

use std::sync::Arc;

use super::abi::{self, SEGMENTS};
use super::device::Device;

/// Frames of one call at most.
pub const FRAMES: usize = abi::FRAMES;

/// Why a received frame can't be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// It has too many parts.
    TooManyParts,
    /// The tag that the device took off can't be put back.
    NoTag,
}

/// A part of a received frame.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The bytes, or why the frame can't be had.
    pub bytes: Result<&'a [u8], Unusable>,
    /// Whether the next part belongs to the same frame.
    pub more: bool,
}

/// The receiving side of a queue.
#[derive(Debug)]
pub struct Receiver {
    device: Arc<Device>,
    queue: u32,
    parts: Box<[abi::Part]>,
    count: usize,
}

// SAFETY: the parts are of buffers that this side has until its next call, and no other thread uses it meanwhile (`&mut self`).
unsafe impl Send for Receiver {}

impl Receiver {
    pub(super) fn new(device: Arc<Device>, queue: u32) -> Self {
        Self {
            device,
            queue,
            parts: vec![abi::Part::NONE; abi::FRAMES * SEGMENTS].into_boxed_slice(),
            count: 0,
        }
    }

    /// Gives the frames of the call before back, and takes new ones; returns the number of their parts.
    pub fn receive(&mut self) -> usize {
        let table = self.device.dpdk().0;
        // SAFETY: the port is open, this is its only receiver of the queue, and `parts` has the room that the call wants.
        let n = unsafe { (table.receive)(self.device.port(), self.queue, self.parts.as_mut_ptr()) };
        self.count = usize::try_from(n).unwrap_or(0).min(self.parts.len());
        self.count
    }

    /// The part number `index` of the last call.
    ///
    /// # Panics
    /// When there were not so many.
    #[must_use]
    pub fn part(&self, index: usize) -> Part<'_> {
        let part = self.parts[..self.count][index];
        let bytes = match (part.data.is_null(), part.len) {
            // SAFETY: `receive` says that so many bytes lie there, until its next call, which needs `&mut self`.
            (false, len) => Ok(unsafe { std::slice::from_raw_parts(part.data.cast::<u8>(), len as usize) }),
            (true, abi::NO_TAG) => Err(Unusable::NoTag),
            (true, _) => Err(Unusable::TooManyParts),
        };
        Part { bytes, more: part.more != 0 && index + 1 < self.count }
    }
}

/// The sending side of a queue.
#[derive(Debug)]
pub struct Sender {
    device: Arc<Device>,
    queue: u32,
    room: usize,
    buffers: [abi::Part; abi::FRAMES],
    reserved: usize,
}

// SAFETY: as for `Receiver`: the buffers are this side's until `send`.
unsafe impl Send for Sender {}

impl Sender {
    pub(super) fn new(device: Arc<Device>, queue: u32, room: usize) -> Self {
        Self { device, queue, room, buffers: [abi::Part::NONE; abi::FRAMES], reserved: 0 }
    }

    /// Bytes of the longest frame.
    #[must_use]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Gets up to `n` buffers, [`FRAMES`] at most; returns how many there are.
    pub fn reserve(&mut self, n: usize) -> usize {
        let (table, n) = (self.device.dpdk().0, n.min(FRAMES) as u32);
        // SAFETY: the port is open, this is its only sender of the queue, and `buffers` has room for `n`.
        let got = unsafe { (table.reserve)(self.device.port(), self.queue, self.buffers.as_mut_ptr(), n) };
        self.reserved = usize::try_from(got).unwrap_or(0).min(n as usize);
        let usable = |b: &abi::Part| !b.data.is_null() && b.len as usize == self.room;
        self.reserved = self.buffers[..self.reserved].iter().take_while(|b| usable(b)).count();
        self.reserved
    }

    /// Has `fill` write a frame of `len` bytes into the buffer number `index` that [`reserve`](Self::reserve) got; returns what it returns.
    ///
    /// # Panics
    /// When there is no such buffer, or the frame is longer than it.
    pub fn fill<T>(&mut self, index: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> T) -> T {
        let buffer = &mut self.buffers[..self.reserved][index];
        assert!(len <= self.room, "frame of {len} bytes in a smaller buffer");
        buffer.len = len as u32;
        // SAFETY: `reserve` says that `room` bytes lie there, this side's alone until `send`; the slice ends with this call.
        fill(unsafe { std::slice::from_raw_parts_mut(buffer.data.cast::<u8>(), len) })
    }

    /// Sends the frames that still wait, and behind them the frames in the first `n` buffers; returns how many the device took. While frames
    /// wait, `n` is 0.
    pub fn send(&mut self, n: usize) -> usize {
        let (table, n) = (self.device.dpdk().0, n.min(self.reserved) as u32);
        // SAFETY: as in `reserve`; each of the `n` buffers has been filled.
        let taken = unsafe { (table.send)(self.device.port(), self.queue, self.buffers.as_ptr(), n) };
        self.reserved = 0;
        usize::try_from(taken).unwrap_or(0)
    }

    /// Gives up the frames that wait.
    pub fn discard(&mut self) {
        // SAFETY: as in `reserve`.
        unsafe { (self.device.dpdk().0.discard)(self.device.port(), self.queue) }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
}
