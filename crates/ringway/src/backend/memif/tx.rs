//! Sending on a ring of a link by copying: into the own buffers of a client, or into buffers that the client posted.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::{Descriptor, Descriptors, Link, LinkRing, Reason};

use super::attachment::Attachment;
use super::core::Core;
use super::sent::Sent;
use super::waker::TxWaker;
use crate::abi::cursor;
use crate::count::{DropReason, Field, RingStats};
use crate::error::Result;
use crate::ring::{RingView, TxSync};
use crate::sys::mmap::Mmap;

/// Buffers that are fetched ahead of the one that is written.
const AHEAD: u16 = 4;

/// The sending side of a ring.
#[derive(Debug)]
pub(super) struct MemifTx {
    core: Arc<Core>,
    attachment: Attachment,
    waker: TxWaker,
    /// First slot of the program's ring that is not sent.
    sent: u32,
    /// The counter of the shared ring that is this side's.
    at: u16,
    /// Up to which counter the peer had given slots back when it was last believed.
    given_back: u16,
    published: Sent,
    scratch: Vec<u8>,
    /// Where the parts of a frame go.
    places: Vec<Descriptor>,
    stats: RingStats,
}

/// What a burst did.
#[derive(Debug, Default)]
struct Moved {
    frames: u64,
    bytes: u64,
}

/// Where a frame, or a part of it, goes.
struct Place<'a> {
    mem: &'a Mmap,
    at: Descriptor,
}

/// The shared ring as its sender sees it.
struct Target<'a> {
    link: &'a Link,
    ring: &'a LinkRing,
    descriptors: Descriptors<'a>,
}

impl<'a> Target<'a> {
    fn new(link: &'a Link, ring: &'a LinkRing) -> Self {
        Self { link, ring, descriptors: ring.ring.descriptors() }
    }

    /// The slots that are free, and up to which counter the receiver gave slots back. A server may find slots that were never posted:
    /// they count as not given back.
    fn free(&self, at: u16, given_back: u16) -> std::result::Result<(u16, u16), Reason> {
        let size = self.ring.ring.size();
        if self.ring.buffers.is_none() {
            let free = self.ring.ring.head().wrapping_sub(at);
            return if free <= size {
                Ok((free, at.wrapping_sub(size - free)))
            } else {
                Err(Reason::Counter)
            };
        }
        let tail = self.ring.ring.tail();
        let moved_on = tail.wrapping_sub(given_back) <= at.wrapping_sub(given_back);
        if moved_on { Ok((size - at.wrapping_sub(tail), tail)) } else { Err(Reason::Counter) }
    }

    /// The empty buffer at a counter. One that the peer posted is checked.
    #[inline]
    fn place(&self, at: u16) -> std::result::Result<Place<'a>, Reason> {
        let at = match &self.ring.buffers {
            Some(buffers) => buffers.of_slot(at & (self.ring.ring.size() - 1)),
            None => self.descriptors.read(at),
        };
        let mem = self.link.memory(at, at.len).ok_or(Reason::Outside)?;
        Ok(Place { mem, at })
    }

    /// Has the CPU fetch a buffer that is written soon.
    #[inline]
    fn fetch(&self, at: u16) {
        if let Ok(Place { mem, at }) = self.place(at) {
            mem.fetch(at.offset as usize, true);
        }
    }

    /// Fills the slot at a counter.
    #[inline]
    fn fill(&self, at: u16, place: &Place<'_>, bytes: &[u8], more: bool) {
        place.mem.write(place.at.offset as usize, bytes);
        self.descriptors.write(at, Descriptor { len: bytes.len() as u32, more, ..place.at });
    }

    /// Publishes what was filled, and wakes the receiver if it sleeps; true when it did.
    fn publish(&self, at: u16) -> std::result::Result<bool, Reason> {
        match self.ring.buffers {
            Some(_) => self.ring.ring.set_head(at),
            None => self.ring.ring.set_tail(at),
        }
        let sleeps = self.ring.ring.wants_interrupt();
        if sleeps {
            self.ring.bell.ring().map_err(not_woken)?;
        }
        Ok(sleeps)
    }
}

impl MemifTx {
    pub(super) fn new(core: Arc<Core>, index: usize, stats: RingStats) -> Result<Self> {
        let attachment = Attachment::new(index, stats.clone());
        let waker = TxWaker::new(&core)?;
        let (published, scratch, places) = (Sent::default(), Vec::new(), Vec::new());
        Ok(Self { core, attachment, waker, sent: 0, at: 0, given_back: 0, published, scratch, places, stats })
    }

    /// Goes over to the link that is up now. What the old peer has not read is lost.
    #[cold]
    fn attach(&mut self) {
        if let Some(link) = self.attachment.link()
            && let Some(ring) = link.tx(self.attachment.index())
        {
            self.look_back(&Target::new(&link, ring)).ok();
            let (frames, bytes) = self.published.last(self.at, self.at.wrapping_sub(self.given_back));
            self.stats.unsend(DropReason::PeerGone, frames, bytes);
        }
        let link = self.attachment.renew(&self.core);
        (self.at, self.given_back) = (0, 0);
        let size =
            link.as_ref().and_then(|link| link.tx(self.attachment.index())).map_or(0, |r| r.ring.size());
        self.published = Sent::new(size);
    }

    /// Sends up to `head` on a link.
    #[inline]
    fn send(&mut self, link: &Link, ring: &RingView, head: u32) {
        let Some(lr) = link.tx(self.attachment.index()) else { return };
        let target = Target::new(link, lr);
        let (before, mut moved) = (self.at, Moved::default());
        let copied = self.copy(ring, head, &target, &mut moved);
        self.stats.sent(moved.frames, moved.bytes);
        let copied = copied.and_then(|()| {
            if self.at != before && target.publish(self.at)? {
                self.stats.count(Field::Wakeups, 1);
            }
            Ok(())
        });
        if let Err(why) = copied {
            self.core.break_off(self.attachment.generation(), why);
        }
    }

    /// Finds out how many slots of the shared ring are free.
    fn look_back(&mut self, target: &Target<'_>) -> std::result::Result<u16, Reason> {
        let (free, given_back) = target.free(self.at, self.given_back)?;
        self.given_back = given_back;
        Ok(free)
    }

    /// Copies frames up to `head` as far as there is room.
    fn copy(
        &mut self,
        ring: &RingView,
        head: u32,
        target: &Target<'_>,
        moved: &mut Moved,
    ) -> std::result::Result<(), Reason> {
        let mut free = self.look_back(target)?;
        while self.sent != head && free > 0 {
            let s = ring.slot(self.sent);
            if !ring.valid(s) || s.offload() || s.more() {
                match self.copy_chain(ring, head, target, free, moved)? {
                    Some(used) => free -= used,
                    None => break,
                }
                continue;
            }
            let place = target.place(self.at)?;
            if u32::from(s.len) > place.at.len || s.len < MIN_FRAME {
                match self.copy_chain(ring, head, target, free, moved)? {
                    Some(used) => free -= used,
                    None => break,
                }
                continue;
            }
            if free > AHEAD {
                target.fetch(self.at.wrapping_add(AHEAD));
            }
            ring.look_at(s, |bytes| target.fill(self.at, &place, bytes, false));
            self.published.note(self.at, s.len.into(), true);
            self.at = self.at.wrapping_add(1);
            self.sent = ring.next(self.sent);
            free -= 1;
            moved.frames += 1;
            moved.bytes += u64::from(s.len);
        }
        Ok(())
    }

    /// Copies a frame that is not plain: of several slots, longer than a buffer, or wrong. Returns the slots of the shared ring that it
    /// took; `None` when there is no room now.
    #[cold]
    fn copy_chain(
        &mut self,
        ring: &RingView,
        head: u32,
        target: &Target<'_>,
        free: u16,
        moved: &mut Moved,
    ) -> std::result::Result<Option<u16>, Reason> {
        self.scratch.clear();
        let offload = ring.slot(self.sent).offload();
        let (slots, good) = ring.gather(self.sent, head, &mut self.scratch);
        let len = self.scratch.len();
        let refused = match () {
            () if !good => Some(DropReason::BadSlot),
            () if offload => Some(DropReason::BadOffload),
            () if len < usize::from(MIN_FRAME) => Some(DropReason::TooShort),
            () => None,
        };
        if let Some(why) = refused {
            self.skip(ring, slots, why);
            return Ok(Some(0));
        }
        self.places.clear();
        let mut room = 0;
        while room < len && self.places.len() < free.into() {
            let place = target.place(self.at.wrapping_add(self.places.len() as u16))?.at;
            room += place.len as usize;
            self.places.push(place);
        }
        if room < len {
            // A ring without anything in it has no more room later.
            if free < target.ring.ring.size() {
                return Ok(None);
            }
            self.skip(ring, slots, DropReason::TooLong);
            return Ok(Some(0));
        }
        let mut rest = &self.scratch[..];
        for &at in &self.places {
            let (part, behind) = rest.split_at(rest.len().min(at.len as usize));
            rest = behind;
            let mem = target.link.memory(at, at.len).ok_or(Reason::Outside)?;
            target.fill(self.at, &Place { mem, at }, part, !rest.is_empty());
            self.published.note(self.at, part.len() as u32, rest.is_empty());
            self.at = self.at.wrapping_add(1);
        }
        self.sent = cursor::add(self.sent, slots, ring.num());
        moved.frames += 1;
        moved.bytes += len as u64;
        Ok(Some(self.places.len() as u16))
    }

    fn skip(&mut self, ring: &RingView, slots: u32, why: DropReason) {
        self.stats.count(Field::In, 1);
        self.stats.drop(why, 1);
        self.sent = cursor::add(self.sent, slots, ring.num());
    }
}

/// The kernel did not wake the peer.
pub(super) fn not_woken(e: std::io::Error) -> Reason {
    Reason::System(format!(
        "waking the peer failed: {e}; allow io_setup(2) and io_submit(2), or raise fs.aio-max-nr"
    ))
}

/// Bytes of an Ethernet header.
pub(super) const MIN_FRAME: u16 = 14;

impl TxSync for MemifTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.waker.disarm();
        self.attachment.look(&self.core);
        if self.sent == head && self.attachment.is_current(&self.core) {
            return Ok(ring.prev(self.sent));
        }
        if !self.attachment.is_current(&self.core) {
            self.attach();
        }
        if let Some(link) = self.attachment.take_out() {
            self.send(&link, ring, head);
            self.attachment.give_back(link);
        }
        Ok(ring.prev(self.sent))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look_now();
        self.waker.arm(&self.core, self.attachment.link().is_some())?;
        Ok(!self.attachment.is_current(&self.core))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }

    fn waits(&self) -> bool {
        true
    }
}
