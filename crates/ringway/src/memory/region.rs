//! Regions: a handle to memory, and what lies where in it.

use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use super::alloc::Alloc;
use super::layout::layout_of;
use super::{Layout, RegionSpec};
use crate::abi::layout;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{fd, mmap::Mmap, xsk::Umem};

/// Memory that holds rings and buffers of one or more ports.
///
/// Ports that are opened in one region forward to each other without copying: they exchange buffer indexes.
///
/// ```
/// use ringway::{Region, RegionSpec};
/// let region = Region::memfd(&RegionSpec { buffers: 66, ..RegionSpec::default() })?;
/// let mut buf = region.take_buf().expect("64 buffers are free");
/// buf.bytes_mut()[..4].copy_from_slice(b"ring");
/// assert_eq!(region.free_bufs(), 63);
/// drop(buf);
/// assert_eq!(region.free_bufs(), 64);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Region(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mem: Mmap,
    pub(crate) layout: Layout,
    fd: OwnedFd,
    /// The file of the buffers, where it is one of its own.
    buffers: Option<OwnedFd>,
    backing: Backing,
    alloc: Mutex<Alloc>,
    number: NonZeroU32,
}

/// A number that no other region of this process has, or ever had: tokens name their region by it.
fn new_number() -> Result<NonZeroU32> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let last = LAST.fetch_update(Relaxed, Relaxed, |last| last.checked_add(1));
    last.ok().and_then(|last| NonZeroU32::new(last + 1)).ok_or_else(|| {
        Error::new(ErrorKind::Unfit, "region", "the process made 4294967295 regions before")
            .cure("start it again")
    })
}

/// What holds a region's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backing {
    /// A memfd or a file: shared between processes, unknown to eBPF.
    File,
    /// A `BPF_MAP_TYPE_ARRAY` with `BPF_F_MMAPABLE` (Linux 5.5): programs in the kernel reach the same bytes.
    BpfArray,
}

impl Region {
    /// A region in anonymous shared memory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the spec is out of bounds; I/O errors of memfd_create and mmap.
    pub fn memfd(spec: &RegionSpec) -> Result<Self> {
        let layout = layout_of(spec)?;
        let fd = fd::memfd(c"ringway-region", layout.total as u64)
            .map_err(|e| Error::io("region", "memfd_create failed", e))?;
        Self::over(fd, layout, Backing::File, Alloc::new(&layout))
    }

    /// A region over `fd`, of which it takes the whole.
    pub(crate) fn over(fd: OwnedFd, layout: Layout, backing: Backing, alloc: Alloc) -> Result<Self> {
        let mem = Mmap::shared(fd.as_fd(), layout.total, 0, true)
            .map_err(|e| Error::io("region", format!("mapping {} bytes failed", layout.total), e))?;
        let (alloc, number) = (Mutex::new(alloc), new_number()?);
        Ok(Self(Arc::new(Shared { mem, layout, fd, buffers: None, backing, alloc, number })))
    }

    /// A region in anonymous shared memory whose buffers lie in a file of their own. Another process that gets this file reads and
    /// writes frames, but no cursor and no slot.
    pub(crate) fn with_buffers_apart(spec: &RegionSpec) -> Result<Self> {
        let layout = layout_of(spec)?;
        let (first, io) = (buffers_page(&layout), |e| Error::io("region", "making its memory failed", e));
        let fd = fd::memfd(c"ringway-rings", first as u64).map_err(io)?;
        let buffers = fd::memfd(c"ringway-buffers", (layout.total - first) as u64).map_err(io)?;
        let parts = [(fd.as_fd(), first), (buffers.as_fd(), layout.total - first)];
        let mem = Mmap::side_by_side(&parts).map_err(io)?;
        let (backing, buffers) = (Backing::File, Some(buffers));
        let (alloc, number) = (Mutex::new(Alloc::new(&layout)), new_number()?);
        Ok(Self(Arc::new(Shared { mem, layout, fd, buffers, backing, alloc, number })))
    }

    /// The file of the buffers, where it is one of its own, and where buffer 0 begins in it.
    pub(crate) fn buffers_file(&self) -> Option<(BorrowedFd<'_>, usize)> {
        let file = self.0.buffers.as_ref()?;
        Some((file.as_fd(), self.0.layout.buf_ofs - buffers_page(&self.0.layout)))
    }

    /// Bytes of memory that the region takes, all parts included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.layout.total
    }

    /// Bytes of one buffer.
    #[must_use]
    pub fn buf_size(&self) -> u32 {
        self.0.layout.buf_size
    }

    /// What holds the memory.
    #[must_use]
    pub fn backing(&self) -> Backing {
        self.0.backing
    }

    /// Whether both handles name the same memory, so that buffers may be exchanged.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An address that no other living region has.
    #[doc(hidden)]
    #[must_use]
    pub fn id(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }

    /// Buffers that belong to no slot and no token.
    #[must_use]
    pub fn free_bufs(&self) -> usize {
        self.alloc().free_bufs()
    }

    #[inline]
    pub(super) fn number(&self) -> NonZeroU32 {
        self.0.number
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn alloc(&self) -> MutexGuard<'_, Alloc> {
        // A panic elsewhere can't leave the lists half changed: each operation is one push or pop.
        self.0.alloc.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Where the page of the first buffer begins.
fn buffers_page(layout: &Layout) -> usize {
    layout.buf_ofs - layout.buf_ofs % PAGE
}

const PAGE: usize = 4096;

impl AsFd for Region {
    /// The map or file that holds the memory.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl Shared {
    /// Address of a buffer. The caller has checked the index with [`Slot::valid`](crate::abi::Slot::valid).
    #[inline]
    pub(crate) fn buf_ptr(&self, idx: u32) -> *mut u8 {
        debug_assert!(idx >= layout::FIRST_BUF && idx < self.layout.bufs);
        self.mem.at(self.layout.buf(idx), self.layout.buf_size as usize).as_ptr()
    }

    /// The buffers, for AF_XDP sockets.
    pub(crate) fn umem(&self, aligned: bool) -> Umem {
        let l = &self.layout;
        Umem::of(&self.mem, l.buf_ofs, (l.bufs, l.buf_size), aligned)
    }

    pub(crate) fn need_bpf(&self, port: &str) -> Result<()> {
        if self.backing == Backing::BpfArray {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, port, "the region given is not an eBPF array")
            .cure("make it with Region::bpf_array"))
    }
}
