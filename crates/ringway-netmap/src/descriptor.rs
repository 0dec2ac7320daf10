//! What a process knows of an open netmap descriptor: so far that it is one, bound to nothing.

use std::ffi::c_short;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};

use crate::memory::{CallerMemory, Errno};

/// The message that every netmap descriptor has in its queue.
const MAGIC: &[u8] = b"ringway netmap descriptor";

/// One open file description of `/dev/netmap`, as this process sees it.
#[derive(Debug)]
pub struct Descriptor {
    inode: u64,
}

/// What to sleep on.
#[derive(Debug, Default)]
pub struct Sleep {
    /// Descriptors of which one becomes readable.
    pub fds: Vec<RawFd>,
    /// A sleeper looks again after this time at the latest.
    pub limit: Option<Duration>,
}

fn inode(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    rustix::fs::fstat(fd).map(|s| s.st_ino).map_err(|e| Errno(e.raw_os_error()))
}

impl Descriptor {
    /// For open(2): the socket that the program gets, and what stands behind it.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn create(cloexec: bool) -> Result<(OwnedFd, Self), Errno> {
        let flags = if cloexec { SockFlag::SOCK_CLOEXEC } else { SockFlag::empty() };
        let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
        let (ours, theirs) = pair.map_err(|e| Errno(e as i32))?;
        send(ours.as_raw_fd(), MAGIC, MsgFlags::MSG_NOSIGNAL).map_err(|e| Errno(e as i32))?;
        let inode = inode(theirs.as_fd())?;
        Ok((theirs, Self { inode }))
    }

    /// A socket of unknown origin: `None` if it is no netmap descriptor.
    #[must_use]
    pub fn recognise(fd: BorrowedFd<'_>) -> Option<Self> {
        let mut found = [0; MAGIC.len() + 1];
        let n = recv(fd.as_raw_fd(), &mut found, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT).ok()?;
        (&found[..n] == MAGIC).then(|| inode(fd).ok().map(|inode| Self { inode })).flatten()
    }

    /// Any ioctl of netmap; `arg` is the program's pointer or number.
    ///
    /// # Errors
    /// `ENXIO`, as no descriptor is bound.
    pub fn ioctl(&self, request: u32, arg: u64, memory: &mut impl CallerMemory) -> Result<i32, Errno> {
        if matches!(request, crate::numbers::NIOCCTRL | crate::numbers::NIOCREGIF) {
            memory.read(arg, &mut [0; 60])?;
        }
        Err(Errno(libc::ENXIO))
    }

    /// For mmap(2): what to map, and its size.
    ///
    /// # Errors
    /// `ENXIO`, as no descriptor is bound.
    pub fn memory(&self) -> Result<(BorrowedFd<'_>, usize), Errno> {
        Err(Errno(libc::ENXIO))
    }

    /// Syncs, and says what of `events` is ready.
    #[must_use]
    pub fn look(&self, _events: c_short) -> c_short {
        libc::POLLERR
    }

    /// Asks for a wake-up, and says on what to sleep; true: something came meanwhile, look again.
    #[must_use]
    pub fn arm(&self, _events: c_short, _sleep: &mut Sleep) -> bool {
        true
    }

    /// The inode of the socket: other descriptors of the same open file description have it too.
    #[must_use]
    pub fn inode(&self) -> u64 {
        self.inode
    }
}
