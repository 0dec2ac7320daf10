//! Sending: a sync copies frames into the kernel's ring and makes it send them, with one system call for each burst.
//!
//! A slot is the program's again once the kernel has taken its frame or the frame is dropped by name. After an error the
//! kernel stands before the frame that it could not send; the frames behind are taken back and put up again without it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::core::{Core, MAX_FRAME};
use crate::abi::Slot;
use crate::abi::layout::MAX_CHAIN;
use crate::backend::gather::{Frame, HEADER, TAG, fits, gather, load};
use crate::count::{DropReason, Field, RingStats};
use crate::error::{Error, Result};
use crate::nic::LOOK_NS;
use crate::ring::{RingView, TxSync};
use crate::sys::fd::always_ready;
use crate::sys::packet::{METADATA, PacketTx};
use crate::sys::time;
use ringway_wire::offload::{Offload, Segments};

/// Frames put up together once an error has shown that the interface may not take them.
const CAUTIOUS: usize = 16;

/// Bytes of a frame past the kernel's ring that the kernel is to put in one piece: more than any header. All of it is
/// copied there anyway.
const LONG_HEADER: usize = 256;

/// The sending side of one tx ring.
#[derive(Debug)]
pub(super) struct Transmitter {
    core: Arc<Core>,
    socket: PacketTx,
    /// First slot not sent yet.
    sent: u32,
    /// The kernel's frame that is next.
    next: usize,
    /// The frames looked at in this burst.
    burst: Vec<Looked>,
    /// Most frames in it.
    most: usize,
    /// Slots of the frame being looked at, each read once.
    parts: Vec<Slot>,
    /// Metadata and bytes of a frame longer than the kernel's.
    long: Vec<u8>,
    mtu: u32,
    asked_ns: u64,
    /// The link was up within [`LOOK_NS`] before this time.
    up_ns: u64,
    stats: RingStats,
    ready: Arc<OwnedFd>,
}

/// A frame of the ring.
#[derive(Debug, Clone, Copy)]
struct Looked {
    /// The slot behind it.
    end: u32,
    /// Its bytes when it was put up; otherwise why it is dropped.
    put: std::result::Result<usize, DropReason>,
}

/// What becomes of the frames that were put up and that the kernel left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// They wait: the memory of the socket is used up. Or there are none.
    Wait,
    /// The first one is lost; the others may go.
    DropFirst(DropReason),
    /// All are lost.
    DropAll(DropReason),
}

impl Transmitter {
    pub(super) fn new(core: Arc<Core>, socket: PacketTx, mtu: u32, stats: RingStats) -> Result<Self> {
        let ready = always_ready().map_err(|e| Error::io(&core.name, "eventfd failed", e))?;
        let most = socket.frames();
        Ok(Self {
            core,
            socket,
            sent: 0,
            next: 0,
            burst: Vec::with_capacity(most),
            most,
            parts: Vec::with_capacity(MAX_CHAIN as usize),
            long: Vec::with_capacity(METADATA + MAX_FRAME),
            mtu,
            asked_ns: time::coarse_ns(),
            up_ns: 0,
            stats,
            ready,
        })
    }

    /// Follows the MTU. Of an interface that is gone there is none; sending finds that out and tells.
    fn ask_mtu(&mut self) {
        let now = time::coarse_ns();
        if now.saturating_sub(self.asked_ns) >= LOOK_NS {
            self.asked_ns = now;
            self.mtu = self.core.interface.mtu().unwrap_or(self.mtu);
        }
    }

    /// Puts frames up from `sent` on; returns how many. A frame longer than the kernel's goes alone, in `long`.
    fn put_up(&mut self, ring: &RingView, head: u32) -> usize {
        self.burst.clear();
        self.long.clear();
        let (mut at, mut next, mut count) = (self.sent, self.next, 0);
        while at != head && self.burst.len() < self.most {
            let (end, frame) = gather(ring, at, head, &mut self.parts);
            at = end;
            let longest = (self.mtu + HEADER + TAG) as usize;
            let put = match frame {
                Ok(Frame { len, offload: None }) if len > longest => Err(DropReason::TooLong),
                Ok(Frame { len, offload }) if offload.is_some() || len > self.socket.max_frame() => {
                    if count > 0 {
                        break;
                    }
                    let put = self.copy_long(ring, len, offload);
                    self.burst.push(Looked { end: at, put });
                    if put.is_ok() {
                        return 1;
                    }
                    continue;
                }
                Ok(Frame { len, .. }) => {
                    let Some(buf) = self.socket.frame(next) else { break };
                    let put = copy(ring, &self.parts, &mut buf[..METADATA + len], len, self.mtu);
                    if put.is_ok() {
                        self.socket.request(next, METADATA + len);
                        next = self.after(next);
                        count += 1;
                    }
                    put
                }
                Err(why) => Err(why),
            };
            self.burst.push(Looked { end: at, put });
        }
        count
    }

    /// Puts a frame into `long`; with the word that says what is left to be done on it, if it carries one.
    #[cold]
    fn copy_long(
        &mut self,
        ring: &RingView,
        len: usize,
        carried: Option<u64>,
    ) -> std::result::Result<usize, DropReason> {
        if len > MAX_FRAME {
            return Err(DropReason::TooLong);
        }
        self.long.resize(METADATA + len, 0);
        let put = match carried {
            None => copy(ring, &self.parts, &mut self.long, LONG_HEADER, self.mtu),
            Some(word) => copy_super(ring, &self.parts, &mut self.long, word, self.mtu),
        };
        put.inspect_err(|_| self.long.clear())
    }

    fn after(&self, frame: usize) -> usize {
        if frame + 1 == self.socket.frames() { 0 } else { frame + 1 }
    }

    /// Makes the kernel send what is put up. Returns how many frames it took, and what becomes of the others.
    fn kick(&mut self, put: usize) -> (usize, Left) {
        if put == 0 {
            return (0, Left::Wait);
        }
        if !self.long.is_empty() {
            return match self.socket.send_long(&self.long) {
                Ok(()) => (1, Left::Wait),
                Err(e) => (0, self.explain(&e)),
            };
        }
        let result = self.socket.kick();
        let mut taken = 0;
        while taken < put && !self.socket.is_left(self.next) {
            self.next = self.after(self.next);
            taken += 1;
        }
        let mut frame = self.next;
        for _ in taken..put {
            self.socket.withdraw(frame);
            frame = self.after(frame);
        }
        match result {
            Err(e) if taken < put => (taken, self.explain(&e)),
            _ => (taken, Left::Wait),
        }
    }

    /// Names what stopped the kernel.
    #[cold]
    fn explain(&mut self, e: &io::Error) -> Left {
        match e.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Left::Wait,
            Some(libc::ENOBUFS) if self.is_up() => Left::DropFirst(DropReason::DeviceFull),
            Some(libc::ENOMEM) => Left::DropFirst(DropReason::NoMemory),
            Some(libc::EMSGSIZE) => Left::DropFirst(DropReason::TooLong),
            Some(libc::EINVAL) => Left::DropFirst(DropReason::DeviceRefused),
            // Down, without a carrier, or gone: the whole burst has nowhere to go.
            _ => Left::DropAll(DropReason::DeviceRefused),
        }
    }

    /// Whether the link is up, as it was asked not long ago.
    fn is_up(&mut self) -> bool {
        let now = time::coarse_ns();
        if now.saturating_sub(self.up_ns) >= LOOK_NS {
            if !matches!(self.core.look_now(), Ok(true)) {
                return false;
            }
            self.up_ns = now;
        }
        true
    }

    /// Counts the frames of the burst up to the first that waits or is to be put up again, and moves on behind them. The
    /// kernel took `taken` of those put up. Returns whether the burst is settled as a whole or may be tried again.
    fn settle(&mut self, mut taken: usize, left: Left) -> bool {
        let (mut frames, mut out, mut bytes, mut goes_on) = (0, 0, 0, !self.burst.is_empty());
        for looked in &self.burst {
            match (looked.put, left) {
                (Err(why), _) => self.stats.drop(why, 1),
                (Ok(len), _) if taken > 0 => {
                    taken -= 1;
                    out += 1;
                    bytes += len as u64;
                }
                (Ok(_), Left::DropAll(why)) => self.stats.drop(why, 1),
                (Ok(_), Left::DropFirst(why)) => {
                    self.stats.drop(why, 1);
                    frames += 1;
                    self.sent = looked.end;
                    break;
                }
                (Ok(_), Left::Wait) => {
                    goes_on = false;
                    break;
                }
            }
            frames += 1;
            self.sent = looked.end;
        }
        self.most = match left {
            Left::DropFirst(_) => CAUTIOUS,
            _ => (self.most * 2).min(self.socket.frames()),
        };
        self.stats.count(Field::In, frames);
        self.stats.count(Field::Out, out);
        self.stats.count(Field::Bytes, bytes);
        goes_on
    }
}

impl TxSync for Transmitter {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.ask_mtu();
        while self.sent != head {
            let put = self.put_up(ring, head);
            let (taken, left) = self.kick(put);
            let goes_on = self.settle(taken, left);
            if matches!(left, Left::DropAll(_)) {
                self.core.look_now()?;
            }
            if !goes_on {
                break;
            }
        }
        Ok(ring.prev(self.sent))
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn takes_offload(&self) -> bool {
        true
    }
}

/// Writes metadata and the frame to `buf`, which has just that length. The first `header` bytes of the frame are called
/// its header, and the kernel copies them in one piece.
#[inline]
fn copy(
    ring: &RingView,
    parts: &[Slot],
    buf: &mut [u8],
    header: usize,
    mtu: u32,
) -> std::result::Result<usize, DropReason> {
    let (metadata, frame) = buf.split_at_mut(METADATA);
    load(ring, parts, frame);
    if !fits(frame, mtu) {
        return Err(DropReason::TooLong);
    }
    // Offload::default(), but for the header.
    metadata.fill(0);
    metadata[2..4].copy_from_slice(&(header as u16).to_ne_bytes());
    Ok(frame.len())
}

/// The same for a super-frame, when the frames that it stands for may be sent.
fn copy_super(
    ring: &RingView,
    parts: &[Slot],
    buf: &mut [u8],
    word: u64,
    mtu: u32,
) -> std::result::Result<usize, DropReason> {
    let (metadata, frame) = buf.split_at_mut(METADATA);
    load(ring, parts, frame);
    let bad = |_| DropReason::BadOffload;
    let mut offload = Offload::from_word(word, frame.len()).map_err(bad)?;
    let segments = Segments::new(frame, &offload).map_err(bad)?;
    if !fits(&frame[..segments.len(0)], mtu) {
        return Err(DropReason::TooLong);
    }
    if let Some(gso) = &mut offload.gso {
        gso.header_len = segments.header_len() as u16;
    }
    offload.write(metadata.first_chunk_mut().ok_or(DropReason::BadOffload)?);
    Ok(frame.len())
}
