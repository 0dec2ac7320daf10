//! The transmitting half of an AF_XDP socket in copy mode, with the buffers of a region as its memory
//! (Documentation/networking/af_xdp.rst).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::fd::check;
use super::mmap::Mmap;

/// Descriptors of the transmit ring; also its completion ring's size.
const RING: u32 = 2048;

const SOL_XDP: i32 = libc::SOL_XDP;

/// A socket that sends from buffers of a region.
#[derive(Debug)]
pub(crate) struct XskTx {
    fd: OwnedFd,
    tx: Ring,
    done: Ring,
    /// Whether frames of several buffers are taken (Linux 6.6).
    pub(crate) multi: bool,
}

/// One ring shared with the kernel: where its words lie.
#[derive(Debug)]
struct Ring {
    mem: Mmap,
    producer: usize,
    consumer: usize,
    desc: usize,
}

/// What the kernel did with the descriptors put up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kick {
    /// All were taken.
    Done,
    /// Some are left; try again.
    Again,
    /// One frame was taken and lost: the interface's queue is full.
    Lost,
}

pub(super) fn set<T>(fd: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as u32;
    // SAFETY: passes a live value and its size.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), SOL_XDP, option, (&raw const *value).cast(), len) })
        .map(drop)
}

impl XskTx {
    /// A socket that is good for nothing yet but remembers the network namespace in which it was made.
    pub(crate) fn socket() -> io::Result<OwnedFd> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the call just made this descriptor.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Sets `fd` up on queue `queue` of interface `ifindex` of its namespace. `bufs` is where the buffers start: they
    /// are mapped at that address, page aligned, for `len` bytes in chunks of `size`, and stay mapped as long as the
    /// socket is open.
    pub(crate) fn new(
        fd: OwnedFd,
        ifindex: u32,
        queue: u32,
        bufs: *const u8,
        len: usize,
        size: u32,
    ) -> io::Result<Self> {
        // SAFETY: plain data; zero is a valid value for each field.
        let mut umem: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        (umem.addr, umem.len, umem.chunk_size) = (bufs as u64, len as u64, size);
        // Chunks whose size is no power of two may lie across pages.
        umem.flags = if size.is_power_of_two() { 0 } else { libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG };
        set(&fd, libc::XDP_UMEM_REG, &umem)?;
        set(&fd, libc::XDP_UMEM_FILL_RING, &64u32)?;
        set(&fd, libc::XDP_UMEM_COMPLETION_RING, &RING)?;
        set(&fd, libc::XDP_TX_RING, &RING)?;
        let ofs = offsets(&fd)?;
        let tx = Ring::map(&fd, libc::XDP_PGOFF_TX_RING, &ofs.tx, size_of::<libc::xdp_desc>())?;
        let done = Ring::map(&fd, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, &ofs.cr, 8)?;
        let multi = bind(&fd, ifindex, queue, libc::XDP_COPY | libc::XDP_USE_SG).map(|()| true);
        let multi = match multi {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                bind(&fd, ifindex, queue, libc::XDP_COPY).map(|()| false)
            }
            r => r,
        }?;
        Ok(Self { fd, tx, done, multi })
    }

    /// Puts up one buffer, given as its offset from the first and its length; false when the ring is full.
    pub(crate) fn put(&mut self, addr: u64, len: u32, more: bool) -> bool {
        let (p, c) =
            (self.tx.word(self.tx.producer).load(Relaxed), self.tx.word(self.tx.consumer).load(Acquire));
        if p.wrapping_sub(c) >= RING {
            return false;
        }
        let at = self.tx.desc + (p & (RING - 1)) as usize * size_of::<libc::xdp_desc>();
        let options = if more { libc::XDP_PKT_CONTD } else { 0 };
        self.tx.mem.u64(at).store(addr, Relaxed);
        self.tx.mem.u64(at + 8).store(u64::from(len) | u64::from(options) << 32, Relaxed);
        self.tx.word(self.tx.producer).store(p.wrapping_add(1), Release);
        true
    }

    /// Descriptors put up and not taken yet.
    pub(crate) fn waiting(&self) -> u32 {
        let r = &self.tx;
        r.word(r.producer).load(Relaxed).wrapping_sub(r.word(r.consumer).load(Acquire))
    }

    /// Makes the kernel send in this thread.
    pub(crate) fn kick(&mut self) -> io::Result<Kick> {
        // Not through libc's sendto, which is a cancellation point and dearer for it.
        // SAFETY: an empty message without address: null pointers with length 0 are right.
        let r = unsafe {
            libc::syscall(
                libc::SYS_sendto,
                self.fd.as_raw_fd(),
                0usize,
                0usize,
                libc::MSG_DONTWAIT,
                0usize,
                0usize,
            )
        };
        self.reap();
        if r >= 0 {
            return Ok(if self.waiting() == 0 { Kick::Done } else { Kick::Again });
        }
        let e = io::Error::last_os_error();
        match e.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(Kick::Again),
            Some(libc::EBUSY) => Ok(Kick::Lost),
            _ => Err(e),
        }
    }

    /// Takes back what was put up and not taken by the kernel; returns how many descriptors. The kernel looks at the
    /// ring only within [`kick`](Self::kick) in copy mode.
    pub(crate) fn withdraw(&mut self) -> u32 {
        let n = self.waiting();
        let c = self.tx.word(self.tx.consumer).load(Acquire);
        self.tx.word(self.tx.producer).store(c, Release);
        n
    }

    /// Frees the completion ring: the kernel copied the bytes within the kick, so there is nothing to learn from it.
    fn reap(&self) {
        let end = self.done.word(self.done.producer).load(Acquire);
        self.done.word(self.done.consumer).store(end, Release);
    }
}

impl Ring {
    fn map(fd: &OwnedFd, at: i64, ofs: &libc::xdp_ring_offset, entry: usize) -> io::Result<Self> {
        let len = ofs.desc as usize + RING as usize * entry;
        let mem = Mmap::shared(fd.as_fd(), len, at, true)?;
        Ok(Self {
            mem,
            producer: ofs.producer as usize,
            consumer: ofs.consumer as usize,
            desc: ofs.desc as usize,
        })
    }

    fn word(&self, at: usize) -> &std::sync::atomic::AtomicU32 {
        self.mem.u32(at)
    }
}

fn offsets(fd: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut ofs: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::xdp_mmap_offsets>() as u32;
    let out = (&raw mut ofs).cast();
    // SAFETY: `ofs` is `len` bytes and lives across the call.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), SOL_XDP, libc::XDP_MMAP_OFFSETS, out, &mut len) })?;
    Ok(ofs)
}

pub(super) fn bind(fd: &OwnedFd, ifindex: u32, queue: u32, flags: u16) -> io::Result<()> {
    // SAFETY: plain data; zero is a valid value for each field.
    let mut a: libc::sockaddr_xdp = unsafe { std::mem::zeroed() };
    a.sxdp_family = libc::AF_XDP as u16;
    (a.sxdp_ifindex, a.sxdp_queue_id, a.sxdp_flags) = (ifindex, queue, flags);
    let len = size_of::<libc::sockaddr_xdp>() as u32;
    // SAFETY: `a` is `len` bytes and lives across the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const a).cast(), len) }).map(drop)
}
