//! The receiving half.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{TP_STATUS_KERNEL, TP_STATUS_USER, TP_STATUS_VLAN_TPID_VALID, TP_STATUS_VLAN_VALID};

use crate::fd::set_option;
use crate::mmap::Mmap;

use super::geometry::Geometry;
use super::socket::{METADATA, bind, get, map, raise, socket};

/// The receiving half: a socket whose frames the kernel writes to a mapped ring.
///
/// Ownership: the frame at `at` is ours from the moment its status says `TP_STATUS_USER` until [`release`](Self::release).
#[derive(Debug)]
pub struct PacketRx {
    fd: Arc<OwnedFd>,
    mem: Mmap,
    offsets: Box<[u32]>,
    at: usize,
}

/// A frame in a receive ring.
#[derive(Debug)]
pub struct PacketFrame<'a> {
    /// Bytes that it had on the link, without a tag that was taken out.
    pub len: usize,
    /// The tag that was taken out: its value and its type.
    pub vlan: Option<(u16, u16)>,
    /// The `virtio_net_hdr`: offloads that are left to do.
    pub metadata: [u8; METADATA],
    /// [`SPARE`] bytes, then the frame as far as it fitted.
    pub bytes: &'a mut [u8],
    /// Whether the socket holds the whole of a frame that did not fit: see [`PacketRx::receive`].
    pub whole_waits: bool,
    /// Whether the kernel dropped frames since it was last asked how many.
    pub losing: bool,
}

impl PacketRx {
    /// Receives what arrives at the interface, when `promiscuous` for every address, but not what leaves by it; only what
    /// its receive queue `queue` brings, if one is given. Frames longer than the ring's wait in the socket.
    pub fn open(ifindex: u32, geometry: Geometry, queue: Option<u32>, promiscuous: bool) -> io::Result<Self> {
        let fd = socket()?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?;
        raise(&fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
        let mem = map(&fd, libc::PACKET_RX_RING, geometry)?;
        if let Some(queue) = queue {
            only_queue(&fd, queue)?;
        }
        bind(&fd, ifindex, libc::ETH_P_ALL)?;
        if promiscuous {
            crate::promiscuous::join(&fd, ifindex)?;
        }
        Ok(Self { fd: Arc::new(fd), mem, offsets: geometry.offsets(), at: 0 })
    }

    /// The socket.
    pub fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    #[inline]
    fn base(&self) -> usize {
        self.offsets[self.at] as usize
    }

    /// Shares the interface's frames out by the hash of their flow: with the sockets that have group `id`, or with sockets
    /// that will have the group returned.
    pub fn join(&self, id: Option<u16>) -> io::Result<u16> {
        // The group has a hook of its own, which has to learn again what not to receive.
        let kind = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        let unique = if id.is_none() { libc::PACKET_FANOUT_FLAG_UNIQUEID } else { 0 };
        let word = u32::from(id.unwrap_or(0)) | (kind | unique) << 16;
        set_option(&self.fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &word)?;
        Ok(get(&self.fd, libc::SOL_PACKET, libc::PACKET_FANOUT, 0u32)? as u16)
    }

    /// Whether a frame is there.
    #[inline]
    pub fn ready(&self) -> bool {
        self.mem.u32(self.base()).load(Relaxed) & TP_STATUS_USER != 0
    }

    /// The next frame, if there is one.
    #[inline]
    pub fn peek(&mut self) -> Option<PacketFrame<'_>> {
        let base = self.base();
        let status = self.mem.u32(base).load(Acquire);
        if status & TP_STATUS_USER == 0 {
            return None;
        }
        let header = self.mem.at(base, size_of::<libc::tpacket2_hdr>()).cast::<libc::tpacket2_hdr>();
        // SAFETY: in bounds, aligned (frames start on cache lines), plain data, and ours: the status says so.
        let h = unsafe { header.read() };
        let mac = base + usize::from(h.tp_mac);
        let mut metadata = [0; METADATA];
        self.mem.read(mac - METADATA, &mut metadata);
        let len = SPARE + h.tp_snaplen as usize;
        let bytes = self.mem.at(mac - SPARE, len);
        // SAFETY: in bounds, ours until `release`, which needs `self`; this is the only slice of it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len) };
        let tpid = if status & TP_STATUS_VLAN_TPID_VALID != 0 { h.tp_vlan_tpid } else { 0x8100 };
        Some(PacketFrame {
            len: h.tp_len as usize,
            vlan: (status & TP_STATUS_VLAN_VALID != 0).then_some((h.tp_vlan_tci, tpid)),
            metadata,
            bytes,
            whole_waits: status & libc::TP_STATUS_COPY != 0,
            losing: status & libc::TP_STATUS_LOSING != 0,
        })
    }

    /// Gives the frame last peeked at back to the kernel.
    #[inline]
    pub fn release(&mut self) {
        self.mem.u32(self.base()).store(TP_STATUS_KERNEL, Release);
        self.at = if self.at + 1 == self.offsets.len() { 0 } else { self.at + 1 };
    }

    /// Receives a frame that waits in the socket into `buf`: metadata, then the frame. Returns the length of both, which
    /// is more than that of `buf` when they did not fit.
    pub fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        // The first call may tell of an error that the interface had meanwhile.
        for _ in 0..2 {
            let (p, len, flags) = (buf.as_mut_ptr().cast(), buf.len(), libc::MSG_DONTWAIT | libc::MSG_TRUNC);
            // SAFETY: the buffer lives across the call and has the length given.
            let n = unsafe { libc::recv(self.fd.as_raw_fd(), p, len, flags) };
            if let Ok(n) = usize::try_from(n) {
                return Ok(n);
            }
        }
        Err(io::Error::last_os_error())
    }
}

/// Spare bytes before a received frame: what a VLAN tag needs.
pub const SPARE: usize = 4;

/// Frames that the kernel dropped on a socket since it was last asked.
pub fn take_drops(fd: &OwnedFd) -> u64 {
    let none = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    get(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, none).map_or(0, |s| u64::from(s.tp_drops))
}

/// Clears the error that a socket keeps, and with which it would wake its pollers for ever. True if there was one.
pub fn take_error(fd: &OwnedFd) -> bool {
    get(fd, libc::SOL_SOCKET, libc::SO_ERROR, 0i32).is_ok_and(|e| e != 0)
}

/// Offset of the ancillary word that holds one more than a frame's receive queue, 0 for none (linux/filter.h).
const SKF_AD_QUEUE: i32 = 24;

/// Lets only frames of one receive queue in. Where the driver does not tell the queue, all frames are of queue 0.
fn only_queue(fd: &OwnedFd, queue: u32) -> io::Result<()> {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let untold = if queue == 0 { 0 } else { u32::MAX };
    let mut program = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, (libc::SKF_AD_OFF + SKF_AD_QUEUE) as u32),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, queue + 1),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, untold),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
