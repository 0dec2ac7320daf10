//! The descriptor that a program gets for `/dev/netmap`: a unix socket. Descriptors of what stands behind it wait in its queue, so that
//! all who have the socket can serve it, and the kernel closes them with it.
//!
//! ```text
//! the program's socket  <- a message with the two ends of a second queue
//! second queue          <- a message with the binding, when there is one
//! ```

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::bound::Bound;
use crate::internal;
use crate::legacy::{Call, Legacy};
use crate::memory::{CallerMemory, Errno};
use crate::numbers::{Kind, NIOCCONFIG, NIOCCTRL, NIOCGINFO, NIOCREGIF, NIOCRXSYNC, NIOCTXSYNC};
use crate::passing;
use crate::request::Request;
use crate::serve::{Done, serve};
pub use crate::sync::Sleep;
use crate::sys::kernel::kind;

/// What is in the program's socket.
const MAGIC: &[u8] = b"ringway netmap descriptor 1";

/// What this process knows of one open file description.
#[derive(Debug)]
pub struct Descriptor {
    inode: u64,
    /// Both ends of the second queue. They are closed before the binding ends.
    queue: (OwnedFd, OwnedFd),
    bound: OnceLock<Bound>,
    /// Held while the descriptor is bound.
    binding: Mutex<()>,
}

impl Descriptor {
    /// The socket that `open` gives to the program, and what stands behind it.
    ///
    /// # Errors
    /// `EMFILE` and the like, when descriptors run out.
    pub fn create(cloexec: bool) -> Result<(OwnedFd, Self), Errno> {
        let errno = |e: io::Error| Errno(e.raw_os_error().unwrap_or(libc::ENOMEM));
        let (socket, filler) = passing::queue(cloexec).map_err(errno)?;
        let queue = internal::track(|| passing::queue(true)).map_err(errno)?;
        passing::put(filler.as_fd(), MAGIC, &[queue.0.as_fd(), queue.1.as_fd()]).map_err(errno)?;
        let inode = inode(socket.as_fd()).ok_or(Errno(libc::EBADF))?;
        Ok((socket, Self::new(inode, queue)))
    }

    fn new(inode: u64, queue: (OwnedFd, OwnedFd)) -> Self {
        Self { inode, queue, bound: OnceLock::new(), binding: Mutex::new(()) }
    }

    /// A socket that the process has from elsewhere; `None` when it is no descriptor of `/dev/netmap`.
    #[must_use]
    pub fn recognise(fd: BorrowedFd<'_>) -> Option<Self> {
        let (bytes, fds) = internal::track(|| passing::peek(fd).ok().flatten())?;
        let [reader, filler] = <[OwnedFd; 2]>::try_from(fds).ok()?;
        let inode = inode(fd)?;
        (bytes == MAGIC).then(|| Self::new(inode, (reader, filler)))
    }

    /// The inode of the socket, by which its copies are known.
    #[must_use]
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// The binding, made here or in another process.
    #[inline]
    fn bound(&self) -> Option<&Bound> {
        self.bound.get().or_else(|| self.inherit())
    }

    #[cold]
    fn inherit(&self) -> Option<&Bound> {
        let _one = self.binding.lock().unwrap_or_else(PoisonError::into_inner);
        self.inherit_locked()
    }

    fn inherit_locked(&self) -> Option<&Bound> {
        if self.bound.get().is_some() {
            return self.bound.get();
        }
        let (bytes, fds) = internal::track(|| passing::peek(self.queue.0.as_fd()).ok().flatten())?;
        match internal::track(|| Bound::inherit(&bytes, fds)) {
            Ok(bound) => Some(self.bound.get_or_init(|| bound)),
            Err(e) => {
                crate::failure::told(&e);
                None
            }
        }
    }

    /// Does what an ioctl asks for.
    ///
    /// # Errors
    /// What the original answers. `ENOTTY` for another ioctl.
    pub fn ioctl(&self, request: u32, arg: u64, memory: &mut impl CallerMemory) -> Result<i32, Errno> {
        match request {
            NIOCTXSYNC => self.bound().ok_or(Errno(libc::ENXIO))?.sync_tx()?,
            NIOCRXSYNC => self.bound().ok_or(Errno(libc::ENXIO))?.sync_rx()?,
            NIOCCTRL => {
                let mut request = Request::copy_in(memory, arg)?;
                let done = match request.options.all_taken() {
                    Ok(()) => self.serve(request.kind, &mut request.name, &mut request.body),
                    Err(e) => Err(e),
                };
                request.finish(memory, done)?;
            }
            NIOCREGIF | NIOCGINFO => {
                let call = if request == NIOCREGIF { Call::Register } else { Call::Info };
                let mut request = Legacy::copy_in(memory, arg, call)?;
                let done = self.serve(request.kind, &mut request.name, &mut request.body);
                request.finish(memory, done)?;
            }
            NIOCCONFIG => return Err(Errno(libc::EOPNOTSUPP)),
            _ => return Err(Errno(libc::ENOTTY)),
        }
        Ok(0)
    }

    fn serve(&self, kind: Kind, name: &mut Vec<u8>, body: &mut [u8]) -> Result<(), Errno> {
        let _one = self.binding.lock().unwrap_or_else(PoisonError::into_inner);
        match internal::track(|| serve(kind, name, body, self.inherit_locked()))? {
            Done::Answered => Ok(()),
            Done::Bound(bound) => self.keep(*bound),
        }
    }

    /// Leaves a new binding to all who have the descriptor.
    fn keep(&self, bound: Bound) -> Result<(), Errno> {
        if let Some((bytes, fds)) = bound.message() {
            passing::put(self.queue.1.as_fd(), &bytes, &fds)
                .map_err(|e| Errno(e.raw_os_error().unwrap_or(libc::EIO)))?;
            // Another process may have bound the same descriptor meanwhile: the first one did.
            let first = passing::peek(self.queue.0.as_fd()).ok().flatten();
            if first.is_none_or(|(first, _)| first != bytes) {
                return Err(Errno(libc::EBUSY));
            }
        }
        self.bound.set(bound).map_err(|_| Errno(libc::EBUSY))
    }

    /// What mmap(2) maps, and how many bytes there are.
    ///
    /// # Errors
    /// `ENXIO` before the descriptor is bound.
    pub fn memory(&self) -> Result<(BorrowedFd<'_>, usize), Errno> {
        let region = self.bound().ok_or(Errno(libc::ENXIO))?.region();
        Ok((region.memory(), region.bytes()))
    }

    /// Syncs what poll(2) with these events syncs, and says which of them are there; `POLLERR` before the descriptor is bound, and for
    /// rings that were reset.
    #[must_use]
    #[inline]
    pub fn look(&self, events: i16) -> i16 {
        self.bound().map_or(libc::POLLERR, |bound| bound.look(events))
    }

    /// Asks to be woken when one of the events comes: adds to `sleep` on what to sleep. True: look again at once.
    #[must_use]
    pub fn arm(&self, events: i16, sleep: &mut Sleep) -> bool {
        self.bound().is_none_or(|bound| bound.arm(events, sleep))
    }
}

fn inode(fd: BorrowedFd<'_>) -> Option<u64> {
    kind(fd.as_raw_fd()).map(|kind| kind.inode)
}
