//! Sending: a sync copies frames from slots into DPDK's buffers, and the device takes them from there.
//!
//! A slot is the program's again once the device has taken its frame, or the frame is dropped by name. Frames that the device does not
//! take wait in DPDK's buffers, and their slots in the ring. While the link is down they are dropped instead: there may never be a far end
//! that takes them.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::core::Core;
use super::tick::Tick;
use crate::abi::Slot;
use crate::backend::gather::{Frame, fits, gather, load};
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::ring::{RingView, TxSync};
use crate::sys::dpdk::{FRAMES, Sender};
use ringway_wire::offload::{Offload, Segments, finish_checksum};

/// The sending side of one tx ring.
#[derive(Debug)]
pub(super) struct Transmitter {
    core: Arc<Core>,
    queue: Sender,
    /// First slot whose frame is not settled, and first whose frame was not looked at.
    sent: u32,
    next: u32,
    /// The frames between the two, in order.
    looked: VecDeque<Looked>,
    /// Slots of the frame being looked at, each read once.
    parts: Vec<Slot>,
    /// A frame with work left to be done, and what is left.
    large: Vec<u8>,
    cut: Option<Cut>,
    tick: Tick,
    /// Whether the link was up at the last look, and when that was.
    is_up: bool,
    looked_ns: u64,
    /// When it last asked what the device lost.
    asked_ns: u64,
    stats: RingStats,
}

/// A frame that was looked at, or a segment of one.
#[derive(Debug, Clone, Copy)]
struct Looked {
    /// The slot behind the frame; `None` for all segments but the last.
    end: Option<u32>,
    /// Its bytes when it lies in a buffer of DPDK's; otherwise why it is dropped.
    put: std::result::Result<usize, DropReason>,
}

/// The super-frame in `large`.
#[derive(Debug, Clone, Copy)]
struct Cut {
    offload: Offload,
    /// Segments that lie in buffers.
    done: usize,
    /// The slot behind it.
    end: u32,
}

impl Transmitter {
    pub(super) fn new(core: Arc<Core>, queue: Sender, stats: RingStats) -> Result<Self> {
        let tick = Tick::new(&core.name)?;
        Ok(Self {
            core,
            queue,
            sent: 0,
            next: 0,
            looked: VecDeque::with_capacity(FRAMES),
            parts: Vec::new(),
            large: Vec::new(),
            cut: None,
            tick,
            is_up: true,
            looked_ns: 0,
            asked_ns: 0,
            stats,
        })
    }

    /// Puts frames up to `head` into buffers, and notes each; returns how many buffers have one.
    fn put_up(&mut self, ring: &RingView, head: u32) -> usize {
        let wanted = ring.dist(self.next, head) as usize + if self.cut.is_some() { FRAMES } else { 0 };
        let buffers = self.queue.reserve(wanted);
        let mut used = 0;
        while used < buffers {
            if self.cut.is_some() {
                used = self.put_segments(used, buffers);
                continue;
            }
            if self.next == head {
                break;
            }
            let (end, frame) = gather(ring, self.next, head, &mut self.parts);
            self.next = end;
            let put = match frame {
                Ok(Frame { len, offload: None }) => self.put(ring, used, len),
                Ok(Frame { len, offload: Some(word) }) => match self.begin(ring, len, word, end) {
                    Ok(()) => continue,
                    Err(why) => Err(why),
                },
                Err(why) => Err(why),
            };
            used += usize::from(put.is_ok());
            self.looked.push_back(Looked { end: Some(end), put });
        }
        used
    }

    /// Copies the frame of the slots in `parts` into a buffer.
    #[inline]
    fn put(&mut self, ring: &RingView, buffer: usize, len: usize) -> std::result::Result<usize, DropReason> {
        if len > self.queue.room() {
            return Err(DropReason::TooLong);
        }
        let (parts, mtu) = (&self.parts, self.core.mtu);
        let fit = self.queue.fill(buffer, len, |frame| {
            load(ring, parts, frame);
            fits(frame, mtu)
        });
        if fit { Ok(len) } else { Err(DropReason::TooLong) }
    }

    /// Takes a frame with work left to be done out of its slots.
    #[cold]
    fn begin(
        &mut self,
        ring: &RingView,
        len: usize,
        word: u64,
        end: u32,
    ) -> std::result::Result<(), DropReason> {
        let offload = Offload::from_word(word, len).map_err(|_| DropReason::BadOffload)?;
        self.large.resize(len, 0);
        load(ring, &self.parts, &mut self.large);
        let longest = match offload {
            Offload { gso: None, checksum } => {
                let finished = checksum
                    .is_none_or(|c| finish_checksum(&mut self.large, c.start.into(), c.offset.into()));
                if !finished {
                    return Err(DropReason::BadOffload);
                }
                len
            }
            _ => Segments::new(&self.large, &offload).map_err(|_| DropReason::BadOffload)?.len(0),
        };
        if longest > self.queue.room() || !fits(&self.large[..longest], self.core.mtu) {
            return Err(DropReason::TooLong);
        }
        self.cut = Some(Cut { offload, done: 0, end });
        Ok(())
    }

    /// Puts segments of the frame in `large` into buffers from `used` on, or the finished frame; returns how many have one now.
    #[cold]
    fn put_segments(&mut self, mut used: usize, buffers: usize) -> usize {
        let Some(mut cut) = self.cut.take() else { return used };
        if cut.offload.gso.is_none() {
            let frame = &self.large;
            self.queue.fill(used, frame.len(), |buf| buf.copy_from_slice(frame));
            self.looked.push_back(Looked { end: Some(cut.end), put: Ok(frame.len()) });
            return used + 1;
        }
        let Ok(segments) = Segments::new(&self.large, &cut.offload) else {
            self.looked.push_back(Looked { end: Some(cut.end), put: Err(DropReason::BadOffload) });
            return used;
        };
        while used < buffers && cut.done < segments.count() {
            let len = segments.len(cut.done);
            self.queue.fill(used, len, |buf| segments.write(cut.done, buf));
            cut.done += 1;
            used += 1;
            let end = (cut.done == segments.count()).then_some(cut.end);
            self.looked.push_back(Looked { end, put: Ok(len) });
        }
        if cut.done < segments.count() {
            self.cut = Some(cut);
        }
        used
    }

    /// Counts the frames up to the first that waits, of which the device took `taken`; `otherwise` says why the others are dropped, if
    /// they do not wait.
    fn settle(&mut self, mut taken: usize, otherwise: Option<DropReason>) {
        let (mut frames, mut out, mut bytes, mut given) = (0, 0, 0, 0);
        while let Some(looked) = self.looked.front() {
            let lost = match looked.put {
                Err(why) => Some(why),
                Ok(len) if taken > 0 => {
                    taken -= 1;
                    given += 1;
                    bytes += len as u64;
                    None
                }
                Ok(_) if otherwise.is_some() => otherwise,
                Ok(_) => break,
            };
            if let Some(end) = looked.end {
                frames += 1;
                self.sent = end;
                match lost {
                    Some(why) => self.stats.drop(why, 1),
                    None => out += 1,
                }
            }
            self.looked.pop_front();
        }
        self.stats.count(Field::In, frames);
        self.stats.count(Field::Out, out);
        self.stats.count(Field::Bytes, bytes);
        self.core.losses.took(given, out);
    }

    /// Frames wait. Where the link is down they are dropped. A link that was up is looked at ten times a second.
    fn give_up_if_down(&mut self) -> Result<()> {
        if self.is_up && !self.core.is_time(&mut self.looked_ns) {
            return Ok(());
        }
        self.is_up = self.queue.device().link_up()?;
        if !self.is_up {
            self.queue.discard();
            if let Some(cut) = self.cut.take() {
                // No segment is left for another try: the frame as a whole is lost.
                self.looked.push_back(Looked { end: Some(cut.end), put: Err(DropReason::DeviceRefused) });
            }
            self.settle(0, Some(DropReason::DeviceRefused));
        }
        Ok(())
    }
}

impl TxSync for Transmitter {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.tick.disarm();
        let before = self.sent;
        loop {
            let put = if self.looked.is_empty() { self.put_up(ring, head) } else { 0 };
            if self.looked.is_empty() {
                break;
            }
            let taken = self.queue.send(put);
            self.settle(taken, None);
            if !self.looked.is_empty() {
                self.give_up_if_down()?;
                break;
            }
        }
        if self.sent != before {
            self.tick.restart();
        }
        if self.core.is_time(&mut self.asked_ns) {
            self.core.losses.tell_tx(&self.stats);
        }
        Ok(ring.prev(self.sent))
    }

    /// Somebody asks only while frames wait.
    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.tick.arm(&self.core.name)?;
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.tick.fd()
    }

    fn takes_offload(&self) -> bool {
        true
    }

    fn waits(&self) -> bool {
        true
    }
}

impl Drop for Transmitter {
    /// The queue is still open, and with it the device.
    fn drop(&mut self) {
        self.core.losses.tell_tx(&self.stats);
    }
}
