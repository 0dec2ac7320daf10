//! Regions: shared memory cut into rings and equal-sized buffers, laid out as in netmap.
//!
//! ```text
//!  0          control blocks, 128 bytes a ring: cursors and wake-up wishes exchanged with the other side
//!  if_ofs     interface descriptors, 1024 bytes each
//!  ring_ofs   rings: 256-byte header and 16-byte slots each
//!  buf_ofs    buffers; indexes 0 and 1 are reserved
//! ```
//!
//! All parts start on a page, the buffers 256 bytes behind one: AF_XDP puts received frames there. A region lives in a
//! mapped eBPF array, so that programs in the kernel reach the same bytes, or in a memfd or file shared by processes.
//!
//! Ownership: a [`Region`] is a handle; the memory goes away with the last handle. Buffers belong to slots of
//! rings; what is left over is given out as [`Buf`] tokens. Thread-safety: handles and tokens may be used from
//! any thread; allocation takes a lock, the data path never allocates.
#![allow(unsafe_code)]

mod alloc;
mod spec;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::abi::layout;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{fd, mmap::Mmap, xsk::Umem};

pub(crate) use alloc::Alloc;
pub use spec::RegionSpec;
pub(crate) use spec::{CTL_SIZE, Layout};

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
    backing: Backing,
    alloc: Mutex<Alloc>,
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
        let layout = spec.layout()?;
        let fd = fd::memfd(c"ringway-region", layout.total as u64)
            .map_err(|e| Error::io("region", "memfd_create failed", e))?;
        Self::over(fd, layout, Backing::File, Alloc::new(&layout))
    }

    /// A region in a mapped eBPF array, in which `ebpf:` ports can be opened. Needs privilege; 512 MiB at most.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] without CAP_BPF; [`ErrorKind::Invalid`] when the spec is out of bounds.
    pub fn bpf_array(spec: &RegionSpec) -> Result<Self> {
        crate::backend::ebpf::region(spec, "region")
    }

    /// A region over `fd`, of which it takes the whole.
    pub(crate) fn over(fd: OwnedFd, layout: Layout, backing: Backing, alloc: Alloc) -> Result<Self> {
        let mem = Mmap::shared(fd.as_fd(), layout.total, 0, true)
            .map_err(|e| Error::io("region", format!("mapping {} bytes failed", layout.total), e))?;
        Ok(Self(Arc::new(Shared { mem, layout, fd, backing, alloc: Mutex::new(alloc) })))
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
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Buffers that belong to no slot and no token.
    #[must_use]
    pub fn free_bufs(&self) -> usize {
        self.alloc().free_bufs()
    }

    /// Takes a buffer that belongs to no slot, or `None` when all are in use.
    #[must_use]
    pub fn take_buf(&self) -> Option<Buf> {
        let idx = self.alloc().take_buf()?;
        Some(Buf { region: self.clone(), idx })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn alloc(&self) -> MutexGuard<'_, Alloc> {
        // A panic elsewhere can't leave the lists half changed: each operation is one push or pop.
        self.0.alloc.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl AsFd for Region {
    /// The map or file that holds the memory.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

/// A buffer that belongs to no slot: a token that can be neither copied nor cloned.
///
/// Dropping it gives the buffer back to its region. [`TxSlot::exchange`](crate::TxSlot::exchange) trades it
/// for the buffer of a slot, so the number of buffers in a ring never changes.
#[derive(Debug)]
pub struct Buf {
    region: Region,
    idx: u32,
}

impl Buf {
    /// The bytes, for reading.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let s = self.region.shared();
        // SAFETY: the token owns this buffer: `alloc` gave its index out once and no slot holds it.
        unsafe { std::slice::from_raw_parts(s.buf_ptr(self.idx), s.layout.buf_size as usize) }
    }

    /// The bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let s = self.region.shared();
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(s.buf_ptr(self.idx), s.layout.buf_size as usize) }
    }

    /// The region that the buffer belongs to.
    #[must_use]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Puts `other` in the place of the index held and returns the index held before.
    pub(crate) fn replace_index(&mut self, other: u32) -> u32 {
        std::mem::replace(&mut self.idx, other)
    }

    #[cfg(test)]
    fn index(&self) -> u32 {
        self.idx
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        self.region.alloc().give_buf(self.idx);
    }
}

impl Shared {
    /// Address of a buffer. The caller has checked the index with [`Slot::valid`](crate::abi::slot::Slot::valid).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_tokens() {
        let r = Region::memfd(&RegionSpec { buffers: 4, ..RegionSpec::default() }).unwrap();
        let (mut a, b) = (r.take_buf().unwrap(), r.take_buf().unwrap());
        assert!(r.take_buf().is_none());
        assert_ne!(a.index(), b.index());
        assert!(a.index() >= layout::FIRST_BUF && b.index() >= layout::FIRST_BUF);
        a.bytes_mut().fill(7);
        assert_eq!(b.bytes()[0], 0);
        drop(a);
        assert_eq!(r.take_buf().unwrap().bytes()[2047], 7);
        assert!(b.region().is(&r));
    }

    #[test]
    fn a_token_keeps_the_memory() {
        let r = Region::memfd(&RegionSpec { buffers: 3, ..RegionSpec::default() }).unwrap();
        let mut b = r.take_buf().unwrap();
        drop(r);
        b.bytes_mut()[0] = 1;
    }
}
