//! Packet sockets with mapped rings, version 2 (packet(7), Documentation/networking/packet_mmap.rst).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{
    TP_STATUS_AVAILABLE, TP_STATUS_KERNEL, TP_STATUS_SEND_REQUEST, TP_STATUS_SENDING, TP_STATUS_USER,
    TP_STATUS_VLAN_TPID_VALID, TP_STATUS_VLAN_VALID, TP_STATUS_WRONG_FORMAT,
};

use super::fd::{check, set_option};
use super::mmap::Mmap;

/// Bytes of metadata before each frame, both ways: `struct virtio_net_hdr` (`PACKET_VNET_HDR`).
pub const METADATA: usize = 10;

/// Spare bytes before a received frame: what a VLAN tag needs.
pub const SPARE: usize = 4;

/// Where the metadata starts in a frame of a transmit ring: behind `struct tpacket2_hdr`.
const TX_DATA: usize = 32;

/// Bytes before the frame in a receive ring, at most: header, address, metadata, alignment.
const RX_HEADROOM: usize = 96;

/// Offset of `tp_len` in a frame's header; `tp_status` is at 0.
const LEN: usize = 4;

/// Bytes of memory that the kernel may queue on a socket, in frames too long for a ring's slots or not yet sent.
const SOCKET_BUFFER: i32 = 8 << 20;

/// How a mapped ring is cut: frames of one size, as many in a block of contiguous pages as fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    frame_size: usize,
    block_size: usize,
    per_block: usize,
    frames: usize,
}

impl Geometry {
    /// About `frames` frames of up to `len` bytes. An odd number of cache lines each: with an even one the first lines
    /// of all frames would share few sets of the caches.
    pub fn new(len: usize, frames: usize) -> Self {
        let frame_size = ((RX_HEADROOM + len).div_ceil(64) | 1) * 64;
        let block_size = frame_size.next_power_of_two().max(1 << 16);
        let per_block = block_size / frame_size;
        Self { frame_size, block_size, per_block, frames: frames.div_ceil(per_block).max(1) * per_block }
    }

    fn bytes(&self) -> usize {
        self.frames / self.per_block * self.block_size
    }

    fn offset(&self, frame: usize) -> usize {
        frame / self.per_block * self.block_size + frame % self.per_block * self.frame_size
    }

    /// Where each frame starts: looked up per frame, for divisions are dear.
    fn offsets(&self) -> Box<[u32]> {
        (0..self.frames).map(|k| self.offset(k) as u32).collect()
    }

    fn request(&self) -> libc::tpacket_req {
        libc::tpacket_req {
            tp_block_size: self.block_size as u32,
            tp_block_nr: (self.frames / self.per_block) as u32,
            tp_frame_size: self.frame_size as u32,
            tp_frame_nr: self.frames as u32,
        }
    }
}

fn get<T: Copy>(fd: &OwnedFd, level: i32, option: i32, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as u32;
    let out = (&raw mut value).cast();
    // SAFETY: `value` is plain data of `len` bytes and lives across the call.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, out, &raw mut len) })?;
    Ok(value)
}

/// A packet socket that receives nothing yet.
fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the call just made this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    set_option(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
    Ok(fd)
}

/// Binds to an interface; `protocol` 0 receives nothing.
fn bind(fd: &OwnedFd, ifindex: u32, protocol: i32) -> io::Result<()> {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut a: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    a.sll_family = libc::AF_PACKET as u16;
    a.sll_protocol = (protocol as u16).to_be();
    a.sll_ifindex = ifindex as i32;
    let len = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: `a` is `len` bytes and lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const a).cast(), len) }).map(drop)
}

/// Raises a socket buffer, beyond the system's limit where the process may.
fn raise(fd: &OwnedFd, force: i32, ask: i32) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, force, &SOCKET_BUFFER)
        .or_else(|_| set_option(fd, libc::SOL_SOCKET, ask, &SOCKET_BUFFER))
}

fn map(fd: &OwnedFd, option: i32, geometry: Geometry) -> io::Result<Mmap> {
    set_option(fd, libc::SOL_PACKET, option, &geometry.request())?;
    Mmap::shared(fd.as_fd(), geometry.bytes(), 0, true)
}

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
            super::promiscuous::join(&fd, ifindex)?;
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

    /// Shares the interface's frames out by the hash of their flow: with the sockets that have group `id`, or with those
    /// that will have the group returned.
    pub fn join(&self, id: Option<u16>) -> io::Result<u16> {
        // The group has a hook of its own, which has to be told again what not to receive.
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

/// The sending half: a socket that sends from a mapped ring, and one for frames longer than the ring's.
///
/// Ownership: the kernel looks at the ring only within [`kick`](Self::kick), from where it stopped on, as far as frames
/// are requested; a frame in state `TP_STATUS_SENDING` stays its own until the interface is done with it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lie_in_blocks_and_start_on_odd_lines() {
        for (len, frames) in [(60, 1), (1518, 512), (1518, 1024), (9018, 1000), (70_000, 3)] {
            let g = Geometry::new(len, frames);
            assert!(g.frames >= frames && g.frame_size >= len + RX_HEADROOM, "{g:?}");
            assert!(g.block_size.is_multiple_of(4096) && (g.frame_size / 64) % 2 == 1, "{g:?}");
            assert_eq!(g.frames, (g.frames / g.per_block) * (g.block_size / g.frame_size));
            for k in 0..g.frames {
                let (start, end) = (g.offset(k), g.offset(k) + g.frame_size);
                assert!(end <= g.bytes() && start / g.block_size == (end - 1) / g.block_size);
                assert!(k == 0 || g.offset(k - 1) + g.frame_size <= start);
            }
        }
    }
}
