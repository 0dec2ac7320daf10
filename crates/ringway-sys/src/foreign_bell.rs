//! An eventfd that another process made, which may mean harm. Its other holders can make it block and fill it, so neither writing
//! nor reading it is safe for a thread that must not stall. The kernel's own signals on an eventfd never wait: here a read of
//! nothing that ends (io_submit(2), `IOCB_FLAG_RESFD`) rings it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;

use super::fd::{check, scratch};

/// `struct iocb` of linux/aio_abi.h, in the byte order of little-endian machines.
#[repr(C)]
#[derive(Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fildes: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Default, Clone, Copy)]
struct Event([u64; 4]);

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_FLAG_RESFD: u32 = 1;

/// Reads that may be under way at once. Each ends in the call that starts it.
const DEPTH: usize = 8;

/// The context of a process for such reads, and an empty file to read.
#[derive(Debug)]
struct Context {
    id: libc::c_ulong,
    /// A fork has no contexts.
    pid: u32,
    empty: File,
}

static CONTEXT: Mutex<Option<Context>> = Mutex::new(None);

impl Context {
    fn new() -> io::Result<Self> {
        let empty = scratch(c"ringway-bell")?;
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word to `id`.
        check(unsafe { libc::syscall(libc::SYS_io_setup, DEPTH, &raw mut id) } as i32)?;
        Ok(Self { id, pid: std::process::id(), empty })
    }

    fn ring(&self, bell: BorrowedFd<'_>) -> io::Result<()> {
        let mut read = Iocb {
            opcode: IOCB_CMD_PREAD,
            fildes: self.empty.as_raw_fd() as u32,
            flags: IOCB_FLAG_RESFD,
            resfd: bell.as_raw_fd() as u32,
            ..Iocb::default()
        };
        let list = [&raw mut read];
        // SAFETY: one live control block, which reads no bytes; the kernel does not keep it.
        check(unsafe { libc::syscall(libc::SYS_io_submit, self.id, 1, list.as_ptr()) } as i32)?;
        let (mut ended, now) = ([Event::default(); DEPTH], libc::timespec { tv_sec: 0, tv_nsec: 0 });
        // SAFETY: the kernel writes at most `DEPTH` events; it does not wait.
        unsafe {
            libc::syscall(libc::SYS_io_getevents, self.id, 0, DEPTH, ended.as_mut_ptr(), &raw const now)
        };
        Ok(())
    }
}

/// The eventfd of another process.
///
/// ```
/// use ringway_sys::{fd, foreign_bell::ForeignBell};
/// let bell = ForeignBell::new(fd::eventfd()?).expect("an eventfd");
/// bell.ring()?;
/// bell.drain();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ForeignBell(OwnedFd);

impl ForeignBell {
    /// `None` for a descriptor that is no eventfd.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Option<Self> {
        let name = std::fs::read_link(format!("/proc/thread-self/fd/{}", fd.as_raw_fd())).ok()?;
        (name.as_os_str() == "anon_inode:[eventfd]").then_some(Self(fd))
    }

    /// Wakes the other process. Never waits.
    ///
    /// # Errors
    /// What io_setup(2) and io_submit(2) say: the system has no contexts left, or a filter of system calls forbids them.
    pub fn ring(&self) -> io::Result<()> {
        // A panic elsewhere can't leave half a context.
        let mut context = CONTEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if context.as_ref().is_none_or(|context| context.pid != std::process::id()) {
            *context = Some(Context::new()?);
        }
        context.as_ref().map_or(Ok(()), |context| context.ring(self.0.as_fd()))
    }

    /// Makes it unreadable again. Never waits.
    pub fn drain(&self) {
        let mut count = [0u8; 8];
        let part = libc::iovec { iov_base: count.as_mut_ptr().cast(), iov_len: count.len() };
        // SAFETY: the kernel writes 8 bytes at most to the array; with this flag it does not wait (Linux 5.8).
        unsafe { libc::preadv2(self.0.as_raw_fd(), &raw const part, 1, -1, libc::RWF_NOWAIT) };
    }
}

impl AsFd for ForeignBell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fd::{Epoll, eventfd};

    fn blocking() -> OwnedFd {
        // SAFETY: no pointers are passed; nobody else knows the descriptor.
        unsafe { std::os::fd::FromRawFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) }
    }

    #[test]
    fn a_bell_that_is_full_and_blocks_stalls_nobody() {
        let fd = blocking();
        let bell = ForeignBell::new(fd.try_clone().unwrap()).unwrap();
        bell.drain(); // a plain read would wait for ever
        let full = (u64::MAX - 1).to_ne_bytes();
        // SAFETY: writes 8 bytes from a local array.
        assert_eq!(unsafe { libc::write(fd.as_raw_fd(), full.as_ptr().cast(), 8) }, 8);
        bell.ring().unwrap(); // a plain write would wait for ever
        let poll = Epoll::new().unwrap();
        poll.add(bell.as_fd()).unwrap();
        assert!(poll.wait(0).unwrap());
        bell.drain();
        assert!(!poll.wait(0).unwrap());
    }

    #[test]
    fn a_ring_wakes() {
        let (bell, poll) = (ForeignBell::new(eventfd().unwrap()).unwrap(), Epoll::new().unwrap());
        poll.add(bell.as_fd()).unwrap();
        for _ in 0..3 * DEPTH {
            bell.ring().unwrap();
        }
        assert!(poll.wait(0).unwrap());
        bell.drain();
        assert!(!poll.wait(0).unwrap());
    }

    #[test]
    fn what_is_no_eventfd_is_none() {
        assert!(ForeignBell::new(File::open("/dev/null").unwrap().into()).is_none());
        assert!(ForeignBell::new(io::pipe().unwrap().0.into()).is_none());
    }
}
