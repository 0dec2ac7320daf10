//! System calls, and tables that lie in mapped eBPF arrays. The only module of this crate that may be unsafe.
#![allow(unsafe_code, reason = "system calls and maps take pointers")]

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use libbpf_sys as bpf;
use ringway_fib::{Fib4, Fib6, FibError, Foreign, Limits};
use ringway_fwd::control::{Adjacencies, Groups};

/// The value of an eBPF array, mapped.
///
/// Thread-safety: its words are reached through atomics only.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: plain memory without thread affinity, reached through atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of an array's values, shared, for reading and writing.
    pub(crate) fn new(map: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let len = len.next_multiple_of(4096);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses overlaps nothing.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        if p == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(p.cast()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        Ok(Self { base, len })
    }

    /// The 32-bit word at `at`.
    ///
    /// # Panics
    /// When it is not inside the mapping or not aligned; so for [`u64`](Self::u64).
    pub(crate) fn u32(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len);
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`.
        unsafe { self.base.add(at).cast().as_ref() }
    }

    /// The 64-bit word at `at`.
    pub(crate) fn u64(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len);
        // SAFETY: in bounds, aligned, valid for any bits, and alive as long as `self`.
        unsafe { self.base.add(at).cast().as_ref() }
    }

    /// The bytes, for a table that is kept beside this mapping and not longer ([`Mapped`]).
    fn place(&self) -> Foreign {
        // SAFETY: `Mapped` drops what lies there before the mapping, and hands out no part of it that lives on its own. Programs only
        // read there; that one process writes is what the lock of the control process is for.
        unsafe { Foreign::new(self.base, self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` made the mapping that `base` and `len` describe; nothing outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A table in a mapping. Fields are dropped in this order.
///
/// Readers of a table ([`ringway_fib::Reader`]) would keep it after the mapping: none is made of one in here.
#[derive(Debug)]
pub(crate) struct Mapped<T> {
    table: T,
    _mapping: Mapping,
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.table
    }
}

impl<T> DerefMut for Mapped<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.table
    }
}

/// An empty IPv4 table.
pub(crate) fn fib4(mapping: Mapping, limits: Limits) -> Result<Mapped<Fib4>, FibError> {
    Ok(Mapped { table: Fib4::in_memory(mapping.place(), limits)?, _mapping: mapping })
}

/// An empty IPv6 table.
pub(crate) fn fib6(mapping: Mapping, limits: Limits) -> Result<Mapped<Fib6>, FibError> {
    Ok(Mapped { table: Fib6::in_memory(mapping.place(), limits)?, _mapping: mapping })
}

/// Next hops.
pub(crate) fn adjacencies(mapping: Mapping) -> Result<Mapped<Adjacencies>, FibError> {
    Ok(Mapped { table: Adjacencies::in_memory(mapping.place())?, _mapping: mapping })
}

/// Groups.
pub(crate) fn groups(mapping: Mapping, groups: u32) -> Result<Mapped<Groups>, FibError> {
    Ok(Mapped { table: Groups::in_memory(mapping.place(), groups)?, _mapping: mapping })
}

/// Waits until every program run that began before has ended: on the way the kernel waits for an RCU grace period
/// (kernel/sched/membarrier.c). Fails with `EINVAL` on a kernel with `nohz_full`.
pub(crate) fn wait_for_programs() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let ret = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Timer interrupts in a second, as the kernel counts them in `jiffies`: coarse clocks move with them.
pub(crate) fn ticks_per_second() -> io::Result<u32> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a struct to fill.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut step) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((1_000_000_000 + step.tv_nsec as u64 / 2).checked_div(step.tv_nsec as u64).unwrap_or(1000) as u32)
}

/// Attaches a program to the native XDP hook of an interface for as long as the returned link lives.
pub(crate) fn attach_xdp(program: BorrowedFd<'_>, index: u32) -> io::Result<OwnedFd> {
    let opts = bpf::bpf_link_create_opts {
        sz: size_of::<bpf::bpf_link_create_opts>() as _,
        flags: XDP_FLAGS_DRV_MODE,
        ..Default::default()
    };
    // SAFETY: `opts` lives across the call and carries its size.
    let fd = check(unsafe { bpf::bpf_link_create(program.as_raw_fd(), index as i32, bpf::BPF_XDP, &opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has a link attach another program.
pub(crate) fn update_link(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers but a null one, which stands for no options.
    let ret = unsafe { bpf::bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), std::ptr::null()) };
    check(ret).map(drop)
}

/// linux/if_link.h.
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// The interface that a link attaches an XDP program to; 0 when it was deleted.
pub(crate) fn xdp_index(link: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = bpf::bpf_link_info::default();
    let mut len = size_of::<bpf::bpf_link_info>() as u32;
    // SAFETY: `info` lives across the call and has the length given; zero asks for no strings.
    check(unsafe { bpf::bpf_link_get_info_by_fd(link.as_raw_fd(), &mut info, &mut len) })?;
    // SAFETY: plain numbers, of which the kernel fills the ones of the link's type.
    Ok(if info.type_ == bpf::BPF_LINK_TYPE_XDP { unsafe { info.__bindgen_anon_1.xdp.ifindex } } else { 0 })
}

/// Pins an object that libbpf-rs does not know as one.
pub(crate) fn pin(object: BorrowedFd<'_>, path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a NUL-terminated path.
    check(unsafe { bpf::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// libbpf returns `-errno`.
fn check(ret: i32) -> io::Result<i32> {
    if ret < 0 { Err(io::Error::from_raw_os_error(-ret)) } else { Ok(ret) }
}
