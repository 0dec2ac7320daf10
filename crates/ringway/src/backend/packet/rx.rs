//! Receiving: a sync copies what the kernel put into its ring into slots, as far as there is room, and gives the kernel
//! its frames back.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};

use super::core::{Core, Lost, MAX_FRAME};
use crate::backend::slots::{Fate, Slots};
use crate::count::{DropReason, RingStats};
use crate::error::{Error, Result};
use crate::ring::{RingView, RxSync};
use crate::sys::fd::Watch;
use crate::sys::packet::{METADATA, PacketFrame, PacketRx, SPARE, take_error};
use ringway_wire::offload::{Gso, Offload, Segments, VLAN_LEN, finish_checksum, insert_vlan};

/// Syncs that find nothing between two looks at the clock.
const IDLE_SYNCS: u32 = 64;

/// The receiving side of one rx ring.
#[derive(Debug)]
pub(super) struct Receiver {
    core: Arc<Core>,
    socket: PacketRx,
    watch: Watch,
    slots: Slots,
    /// Metadata and bytes of a frame that could not stay in the kernel's ring.
    scratch: Box<[u8]>,
    /// That frame, as long as it, or segments of it, wait for room.
    large: Option<Large>,
    /// One segment that is longer than a buffer.
    segment: Box<[u8]>,
    left: Left,
    lost: Arc<Lost>,
    stats: RingStats,
    idle: u32,
}

/// A frame in `scratch`.
#[derive(Debug, Clone, Copy)]
struct Large {
    start: usize,
    end: usize,
    offload: Offload,
    /// Segments delivered.
    done: usize,
}

impl Receiver {
    pub(super) fn new(core: Arc<Core>, socket: PacketRx, left: Left, stats: RingStats) -> Result<Self> {
        let watch = Watch::new().map_err(|e| Error::io(&core.name, "epoll_create failed", e))?;
        let lost = Lost::new(socket.fd().clone());
        let buffer = || vec![0; METADATA + MAX_FRAME].into_boxed_slice();
        let (scratch, segment) = (buffer(), buffer());
        Ok(Self {
            core,
            socket,
            watch,
            slots: Slots::default(),
            scratch,
            large: None,
            segment,
            left,
            lost,
            stats,
            idle: 0,
        })
    }

    pub(super) fn lost(&self) -> Weak<Lost> {
        Arc::downgrade(&self.lost)
    }

    /// Takes frames until the kernel has no more, or one has to wait. True when the kernel tells that it drops.
    fn collect(&mut self, ring: &RingView) -> bool {
        let mut losing = false;
        while self.place_large(ring) == Fate::Settled {
            let Some(frame) = self.socket.peek() else { break };
            losing |= frame.losing;
            let fate = if is_plain(&frame) {
                Ok(self.slots.place(ring, &frame.bytes[SPARE..], &self.stats))
            } else {
                special(&mut self.slots, ring, frame, self.left, &self.stats)
            };
            match fate {
                Ok(Fate::Settled) => self.socket.release(),
                Ok(Fate::Waits) => break,
                Err(NotHere) => self.fetch_large(),
            }
        }
        losing
    }

    /// Moves the next frame of the kernel's ring to `scratch`.
    #[cold]
    fn fetch_large(&mut self) {
        let Some(frame) = self.socket.peek() else { return };
        let (len, vlan) = (frame.len, frame.vlan);
        let fetched = if frame.bytes.len() == SPARE + len {
            self.scratch[..METADATA].copy_from_slice(&frame.metadata);
            self.scratch[METADATA..METADATA + len].copy_from_slice(&frame.bytes[SPARE..]);
            Ok(len)
        } else if frame.whole_waits {
            match self.socket.receive(&mut self.scratch) {
                Ok(n) if n > self.scratch.len() => Err(DropReason::TooLong),
                Ok(n) => n.checked_sub(METADATA).ok_or(DropReason::NoMemory),
                Err(_) => Err(DropReason::NoMemory),
            }
        } else {
            // The memory for frames that wait in the socket was used up.
            Err(DropReason::RingFull)
        };
        self.socket.release();
        match fetched.and_then(|len| self.prepare(len, vlan)) {
            Ok(large) => self.large = Some(large),
            Err(why) => self.slots.drop(&self.stats, why),
        }
    }

    /// Does what was left to be done on the frame of `len` bytes in `scratch`, except cutting it.
    fn prepare(&mut self, len: usize, vlan: Option<(u16, u16)>) -> std::result::Result<Large, DropReason> {
        let (metadata, frame) = self.scratch.split_at_mut(METADATA);
        let frame = &mut frame[..len];
        let mut offload = Offload::parse(metadata, len).map_err(|_| DropReason::BadOffload)?;
        if offload.gso.is_none() {
            finish(frame, &offload, self.left)?;
            offload = Offload::default();
        }
        if offload.to_word().is_none() {
            return Err(DropReason::BadOffload);
        }
        let (mut start, end) = (METADATA, METADATA + len);
        if let Some((tci, tpid)) = vlan {
            start -= VLAN_LEN;
            if !insert_vlan(&mut self.scratch[start..end], tci, tpid) {
                return Err(DropReason::TooShort);
            }
            offload = offload.moved(VLAN_LEN as u16);
        }
        Ok(Large { start, end, offload, done: 0 })
    }

    /// Puts the frame in `scratch`, if there is one, into slots.
    #[inline]
    fn place_large(&mut self, ring: &RingView) -> Fate {
        if self.large.is_none() { Fate::Settled } else { self.place(ring) }
    }

    #[cold]
    fn place(&mut self, ring: &RingView) -> Fate {
        let Some(large) = &mut self.large else { return Fate::Settled };
        let frame = &self.scratch[large.start..large.end];
        let first = self.slots.tail;
        let fate = if large.offload.is_none() {
            self.slots.place(ring, frame, &self.stats)
        } else if self.left.gso == Gso::Carry {
            let fate = self.slots.place(ring, frame, &self.stats);
            if self.slots.tail != first
                && let Some(word) = large.offload.to_word()
            {
                ring.set_offload(first, word);
            }
            fate
        } else {
            match Segments::new(frame, &large.offload) {
                Ok(segments) => {
                    let (slots, buf) = (&mut self.slots, &mut self.segment);
                    place_segments(slots, ring, &segments, &mut large.done, buf, &self.stats)
                }
                Err(_) => {
                    self.slots.drop(&self.stats, DropReason::BadOffload);
                    Fate::Settled
                }
            }
        };
        if fate == Fate::Settled {
            self.large = None;
        }
        fate
    }
}

impl RxSync for Receiver {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.watch.disarm(self.socket.fd().as_fd());
        let before = self.slots.tail;
        self.slots.end = ring.prev(head);
        let losing = self.collect(ring);
        self.slots.count(&self.stats);
        if losing {
            self.lost.tell(&self.stats);
        }
        if self.slots.tail == before {
            self.idle += 1;
            if self.idle >= IDLE_SYNCS {
                self.idle = 0;
                self.core.look()?;
            }
        } else {
            self.idle = 0;
        }
        Ok(self.slots.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        // The socket is readable as long as a frame is in its ring, and when it keeps an error: that the link went down, or
        // that the interface is gone.
        if take_error(self.socket.fd()) {
            self.core.look_now()?;
        }
        self.core.look()?;
        self.lost.tell(&self.stats);
        let fd = self.socket.fd().as_fd();
        self.watch.arm(fd).map_err(|e| Error::io(&self.core.name, "epoll_ctl failed", e))?;
        Ok(self.large.is_some() || self.socket.ready())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.lost.tell(&self.stats);
    }
}

/// Puts segments from `done` on into slots, as far as there is room.
fn place_segments(
    slots: &mut Slots,
    ring: &RingView,
    segments: &Segments<'_>,
    done: &mut usize,
    buf: &mut [u8],
    stats: &RingStats,
) -> Fate {
    while *done < segments.count() {
        match Slots::need(ring, segments.len(*done)) {
            Err(why) => slots.drop(stats, why),
            Ok(need) if !slots.has(ring, need) => return Fate::Waits,
            Ok(1) => slots.put_segment(ring, segments, *done),
            Ok(_) => {
                if let Some(len) = segments.write(*done, buf) {
                    slots.put(ring, &buf[..len]);
                }
            }
        }
        *done += 1;
    }
    Fate::Settled
}

/// What becomes of work that senders left to the interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) gso: Gso,
    /// Checksums stay unfinished.
    pub(super) raw: bool,
}

/// The frame can't be dealt with in the kernel's ring.
struct NotHere;

/// Whether a frame is whole and nothing is left to be done on it.
#[inline]
fn is_plain(frame: &PacketFrame<'_>) -> bool {
    // Flags and kind of segmentation; DATA_VALID, 2, asks for nothing.
    frame.metadata[0] & !2 == 0
        && frame.metadata[1] == 0
        && frame.vlan.is_none()
        && frame.bytes.len() == SPARE + frame.len
}

/// Finishes a frame's checksum and puts its tag back where it lies, then as [`Slots::place`].
fn special(
    slots: &mut Slots,
    ring: &RingView,
    frame: PacketFrame<'_>,
    left: Left,
    stats: &RingStats,
) -> std::result::Result<Fate, NotHere> {
    if frame.bytes.len() != SPARE + frame.len {
        return Err(NotHere);
    }
    let offload = match Offload::parse(&frame.metadata, frame.len) {
        Ok(Offload { gso: Some(_), .. }) => return Err(NotHere),
        Ok(offload) => offload,
        Err(_) => {
            slots.drop(stats, DropReason::BadOffload);
            return Ok(Fate::Settled);
        }
    };
    // Nothing may be changed twice: a frame that has to wait is seen again.
    let start = if frame.vlan.is_some() { SPARE - VLAN_LEN } else { SPARE };
    match Slots::need(ring, frame.bytes.len() - start) {
        Ok(need) if !slots.has(ring, need) => return Ok(Fate::Waits),
        _ => {}
    }
    if let Err(why) = finish(&mut frame.bytes[SPARE..], &offload, left) {
        slots.drop(stats, why);
        return Ok(Fate::Settled);
    }
    if let Some((tci, tpid)) = frame.vlan
        && !insert_vlan(&mut frame.bytes[start..], tci, tpid)
    {
        slots.drop(stats, DropReason::TooShort);
        return Ok(Fate::Settled);
    }
    Ok(slots.place(ring, &frame.bytes[start..], stats))
}

fn finish(frame: &mut [u8], offload: &Offload, left: Left) -> std::result::Result<(), DropReason> {
    match offload.checksum {
        Some(c) if !left.raw && !finish_checksum(frame, c.start.into(), c.offset.into()) => {
            Err(DropReason::BadOffload)
        }
        _ => Ok(()),
    }
}
