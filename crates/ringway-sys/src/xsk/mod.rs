//! AF_XDP sockets over the buffers of a region (Documentation/networking/af_xdp.rst).
//!
//! The kernel puts a received frame [`HEADROOM`] bytes into its chunk. Regions place their first buffer just as far
//! behind a page, so the memory registered starts on that page and each frame lies at the start of a buffer.

mod bind;
mod options;
mod released;
mod ring;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use bind::bind;
use bind::bind_best;
pub use bind::{Wanted, ZeroCopy};
use options::get;
pub(super) use options::set;
use released::Place;
use ring::{ADDR, DESC};
pub use ring::{Desc, Ring};

use super::fd::check;
use super::mmap::Mmap;

/// Bytes that the kernel leaves free before each received frame (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: usize = 256;

/// `XDP_MAX_TX_SKB_BUDGET` of linux/if_xdp.h: frames that one call sends in copy mode, 32 before Linux 6.17.
pub(super) const MAX_TX_SKB_BUDGET: i32 = 9;

/// Where a received frame starts relative to its chunk, in the upper bits of an address (`XSK_UNALIGNED_BUF_OFFSET_SHIFT`).
const OFFSET_SHIFT: u32 = 48;

/// The buffers of a region as a socket sees them: chunks of equal size, one for each buffer.
#[derive(Debug, Clone, Copy)]
pub struct Umem {
    base: *const u8,
    bufs: u32,
    buf_size: u32,
    /// 2^32 / `buf_size`, rounded up.
    reciprocal: u64,
    /// Chunks do not cross pages, as zero copy demands; a buffer then ends where the next chunk starts.
    aligned: bool,
}

// SAFETY: the pointer is only told to the kernel, never followed.
unsafe impl Send for Umem {}
// SAFETY: as above.
unsafe impl Sync for Umem {}

impl Umem {
    /// The `bufs` buffers of `buf_size` bytes in `mem`, of which the first is at the offset `first`.
    pub fn of(mem: &Mmap, first: usize, (bufs, buf_size): (u32, u32), aligned: bool) -> Self {
        Self::new(mem.at(first, bufs as usize * buf_size as usize), bufs, buf_size, aligned)
    }

    /// The `bufs` buffers of `buf_size` bytes whose first is at `first`, [`HEADROOM`] behind the start of a page.
    fn new(first: NonNull<u8>, bufs: u32, buf_size: u32, aligned: bool) -> Self {
        let base = first.as_ptr().wrapping_sub(HEADROOM).cast_const();
        let reciprocal = (1u64 << 32).div_ceil(u64::from(buf_size));
        Self { base, bufs, buf_size, reciprocal, aligned }
    }

    /// Bytes of a buffer that a frame may fill.
    pub fn room(&self) -> u32 {
        if self.aligned { self.buf_size - HEADROOM as u32 } else { self.buf_size }
    }

    /// The chunk of a buffer, for the fill ring.
    #[inline]
    pub fn chunk(&self, buf: u32) -> u64 {
        u64::from(buf) * u64::from(self.buf_size)
    }

    /// Where a frame starts that is to be sent from a buffer.
    #[inline]
    pub fn frame(&self, buf: u32) -> u64 {
        self.chunk(buf) + HEADROOM as u64
    }

    /// The buffer at whose start a received frame, or a chunk given back, lies; `None` for any other place.
    #[inline]
    pub fn buf(&self, addr: u64) -> Option<u32> {
        let at = (addr & ((1 << OFFSET_SHIFT) - 1)) + (addr >> OFFSET_SHIFT);
        let rel = at.checked_sub(HEADROOM as u64)?;
        // Exact for each multiple of the size within a region, which has no more than 2^31 bytes: the error of the
        // reciprocal, times the multiplier, stays below 2^32.
        let buf = rel.wrapping_mul(self.reciprocal) >> 32;
        (buf < u64::from(self.bufs) && buf * u64::from(self.buf_size) == rel).then_some(buf as u32)
    }

    fn register(&self, fd: &OwnedFd) -> io::Result<()> {
        // SAFETY: plain data; zero is a valid value for each field.
        let mut r: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        let bytes = u64::from(self.bufs) * u64::from(self.buf_size);
        r.addr = self.base as u64;
        (r.chunk_size, r.len, r.flags) = if self.aligned {
            (self.buf_size, bytes, 0)
        } else {
            let chunk = self.buf_size + HEADROOM as u32;
            (chunk, bytes + HEADROOM as u64, libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG)
        };
        set(fd, libc::XDP_UMEM_REG, &r)
    }
}

/// A socket on one queue of an interface and its rings.
#[derive(Debug)]
pub struct Xsk {
    /// The socket.
    pub fd: Arc<XskFd>,
    /// The receiving side, where it was wanted.
    pub rx: Option<RxRings>,
    /// The sending side.
    pub tx: TxRings,
}

/// The socket itself.
#[derive(Debug)]
pub struct XskFd {
    fd: OwnedFd,
    place: Place,
    /// Whether the driver uses the buffers themselves.
    pub zero_copy: bool,
    /// Whether frames of several buffers are taken (Linux 6.6).
    pub multi: bool,
    /// The error with which the driver refused zero copy.
    pub refused: Option<i32>,
}

/// The rings on the receiving side: free chunks to the kernel, frames back.
#[derive(Debug)]
pub struct RxRings {
    /// Free chunks, to the kernel.
    pub fill: Ring,
    /// Received frames, from the kernel.
    pub rx: Ring,
}

/// The rings on the sending side: frames to the kernel, their addresses back when it is done with them.
#[derive(Debug)]
pub struct TxRings {
    /// Frames, to the kernel.
    pub tx: Ring,
    /// Their addresses, from the kernel.
    pub done: Ring,
}

impl Xsk {
    /// A socket that is good for nothing yet but remembers the network namespace in which it was made.
    pub fn socket() -> io::Result<OwnedFd> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the call just made this descriptor.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Sets `fd` up on a queue of an interface of its namespace. The memory of `umem` stays pinned as long as the
    /// socket is open.
    pub fn new(fd: OwnedFd, umem: &Umem, want: &Wanted) -> io::Result<Self> {
        umem.register(&fd)?;
        for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING] {
            set(&fd, ring, &want.ring)?;
        }
        if want.receive {
            set(&fd, libc::XDP_RX_RING, &want.ring)?;
        }
        let at: libc::xdp_mmap_offsets = get(&fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let map = |page: i64, ofs: &libc::xdp_ring_offset, entry| Ring::map(&fd, page, ofs, entry, want.ring);
        let tx = TxRings {
            tx: map(libc::XDP_PGOFF_TX_RING, &at.tx, DESC)?,
            done: map(libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64, &at.cr, ADDR)?,
        };
        let rx = if want.receive {
            Some(RxRings {
                fill: map(libc::XDP_UMEM_PGOFF_FILL_RING as i64, &at.fr, ADDR)?,
                rx: map(libc::XDP_PGOFF_RX_RING, &at.rx, DESC)?,
            })
        } else {
            None
        };
        // Only faster where the kernel knows it.
        let _ = set(&fd, MAX_TX_SKB_BUDGET, &want.ring);
        let (multi, refused) = bind_best(&fd, want)?;
        let options: libc::xdp_options = get(&fd, libc::SOL_XDP, libc::XDP_OPTIONS)?;
        let zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        let place = Place::new(&fd, want.ifindex, want.queue);
        released::forget(place);
        Ok(Self { fd: Arc::new(XskFd { fd, place, zero_copy, multi, refused }), rx, tx })
    }

    /// Sets up a socket that `make` makes, and new ones after it while the queue is busy, for as long as `patience`. When it was this
    /// process that closed a socket there, it waits until the kernel has released the queue.
    pub fn when_free(
        mut make: impl FnMut() -> io::Result<OwnedFd>,
        umem: &Umem,
        want: &Wanted,
        patience: Duration,
    ) -> io::Result<Self> {
        let start = Instant::now();
        loop {
            let fd = make()?;
            let until = released::busy_until(Place::new(&fd, want.ifindex, want.queue));
            match Self::new(fd, umem, want) {
                Err(e)
                    if e.raw_os_error() == Some(libc::EBUSY)
                        && (start.elapsed() < patience
                            || until.is_some_and(|until| Instant::now() < until)) =>
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                made => return made,
            }
        }
    }
}

impl Drop for XskFd {
    fn drop(&mut self) {
        released::note(self.place);
    }
}

/// What the kernel did with the descriptors put up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kick {
    /// All were taken.
    Done,
    /// Some are left; try again.
    Again,
    /// One frame was taken and lost: the interface's queue is full.
    Lost,
}

impl XskFd {
    /// Makes the kernel send in this thread, or wakes the driver that does.
    #[inline]
    pub fn kick(&self) -> io::Result<Kick> {
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
        if r >= 0 {
            return Ok(Kick::Done);
        }
        let e = io::Error::last_os_error();
        match e.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(Kick::Again),
            Some(libc::EBUSY) => Ok(Kick::Lost),
            _ => Err(e),
        }
    }

    /// Wakes a driver that waits for free chunks. Errors tell only that there is nobody to wake.
    pub fn wake_receiver(&self) {
        // SAFETY: an empty receive: null pointers with length 0 are right.
        unsafe {
            let none = std::ptr::null_mut();
            libc::recvfrom(self.fd.as_raw_fd(), none, 0, libc::MSG_DONTWAIT, none.cast(), none.cast())
        };
    }

    /// Frames that the kernel lost on the way into the rx ring since the socket was opened, for want of a free chunk or a
    /// free descriptor.
    pub fn lost(&self) -> io::Result<u64> {
        let s: libc::xdp_statistics = get(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS)?;
        Ok(s.rx_dropped + s.rx_ring_full)
    }
}

impl AsFd for XskFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_names_its_buffer(bufs in 3u32..5000, size in 64u32..4000, buf in 0u32..5000, aligned: bool) {
            let mut memory = vec![0u8; HEADROOM + 1];
            let first = NonNull::from(&mut memory[HEADROOM]);
            let umem = Umem::new(first, bufs, size, aligned);
            let known = (buf < bufs).then_some(buf);
            prop_assert_eq!(umem.buf(umem.frame(buf)), known);
            // Unaligned: the kernel tells the chunk, and the offset in it in the upper bits.
            prop_assert_eq!(umem.buf(umem.chunk(buf) | (HEADROOM as u64) << OFFSET_SHIFT), known);
            prop_assert_eq!(umem.buf(umem.frame(buf) + 1), None);
        }

        #[test]
        fn any_address_is_a_buffer_or_nothing(addr: u64) {
            let first = NonNull::<u8>::dangling();
            let umem = Umem::new(first, 100, 2048, false);
            if let Some(b) = umem.buf(addr) {
                prop_assert!(b < 100);
            }
        }
    }
}
