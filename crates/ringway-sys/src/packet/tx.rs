//! The sending half.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST, TP_STATUS_SENDING, TP_STATUS_WRONG_FORMAT};

use crate::fd::set_option;
use crate::mmap::Mmap;

use super::geometry::Geometry;
use super::socket::{LEN, METADATA, bind, map, raise, socket};

/// The sending half: a socket that sends from a mapped ring, and one for frames longer than the ring's.
///
/// Ownership: the kernel looks at the ring only within [`kick`](Self::kick), from where it stopped on, as far as frames
/// are requested. A frame in state `TP_STATUS_SENDING` stays the kernel's until the interface is done with it.
#[derive(Debug)]
pub struct PacketTx {
    fd: OwnedFd,
    long: OwnedFd,
    mem: Mmap,
    offsets: Box<[u32]>,
    /// Bytes of a frame behind its header.
    room: usize,
}

impl PacketTx {
    /// Opens the socket and its ring on an interface.
    pub fn open(ifindex: u32, geometry: Geometry) -> io::Result<Self> {
        let [fd, long] = [socket()?, socket()?];
        for fd in [&fd, &long] {
            set_option(fd, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
            raise(fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
        }
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let mem = map(&fd, libc::PACKET_TX_RING, geometry)?;
        bind(&fd, ifindex, 0)?;
        bind(&long, ifindex, 0)?;
        Ok(Self { fd, long, mem, offsets: geometry.offsets(), room: geometry.frame_size - TX_DATA })
    }

    /// Frames that the ring holds.
    pub fn frames(&self) -> usize {
        self.offsets.len()
    }

    /// Longest frame that fits the ring.
    pub fn max_frame(&self) -> usize {
        self.room - METADATA
    }

    fn status(&self, frame: usize) -> &std::sync::atomic::AtomicU32 {
        self.mem.u32(self.offsets[frame] as usize)
    }

    /// The bytes of a frame, metadata first; `None` while the interface holds it.
    #[inline]
    pub fn frame(&mut self, frame: usize) -> Option<&mut [u8]> {
        if self.status(frame).load(Acquire) & TP_STATUS_SENDING != 0 {
            return None;
        }
        let p = self.mem.at(self.offsets[frame] as usize + TX_DATA, self.room);
        // SAFETY: in bounds, and ours: not in state SENDING, and no kick can run while `self` is borrowed.
        Some(unsafe { std::slice::from_raw_parts_mut(p.as_ptr(), self.room) })
    }

    /// Requests that the first `len` bytes of a frame be sent, its metadata included.
    #[inline]
    pub fn request(&mut self, frame: usize, len: usize) {
        self.mem.u32(self.offsets[frame] as usize + LEN).store(len as u32, Relaxed);
        self.status(frame).store(TP_STATUS_SEND_REQUEST, Release);
    }

    /// Whether the kernel has not taken a frame that was requested.
    pub fn is_left(&self, frame: usize) -> bool {
        self.status(frame).load(Acquire) & (TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT) != 0
    }

    /// Takes a request back that the kernel left.
    pub fn withdraw(&mut self, frame: usize) {
        self.status(frame).store(TP_STATUS_AVAILABLE, Relaxed);
    }

    /// Makes the kernel send what is requested, in this thread.
    pub fn kick(&mut self) -> io::Result<()> {
        // Not through libc's sendto, which is a cancellation point and dearer for it.
        let (fd, none) = (self.fd.as_raw_fd(), 0usize);
        // SAFETY: an empty message without address: null pointers with length 0 are right.
        let r = unsafe { libc::syscall(libc::SYS_sendto, fd, none, none, libc::MSG_DONTWAIT, none, none) };
        if r < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends one frame of any length past the ring: metadata, then the frame.
    pub fn send_long(&self, bytes: &[u8]) -> io::Result<()> {
        let (p, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the bytes live across the call.
        let n = unsafe { libc::send(self.long.as_raw_fd(), p, len, libc::MSG_DONTWAIT) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Where the metadata starts in a frame of a transmit ring: behind `struct tpacket2_hdr`.
const TX_DATA: usize = 32;
