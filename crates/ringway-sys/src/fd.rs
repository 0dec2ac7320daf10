//! Descriptors: memfd, eventfd, epoll, file locks.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Turns a system call's return value into a result.
pub fn check(ret: i32) -> io::Result<i32> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

fn owned(ret: i32) -> io::Result<OwnedFd> {
    let fd = check(ret)?;
    // SAFETY: the system call just made this descriptor; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of a socket.
pub(super) fn set_option<T>(fd: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let (value, len) = ((&raw const *value).cast(), size_of::<T>() as u32);
    // SAFETY: passes a live value and its size.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, value, len) }).map(drop)
}

/// An anonymous file of `len` zero bytes that lives as long as somebody has it open or mapped. Its size is
/// sealed: in a file that another process cuts short, the next access to the mapping ends a process with
/// SIGBUS.
pub fn memfd(name: &std::ffi::CStr, len: u64) -> io::Result<OwnedFd> {
    let file = scratch(name)?;
    file.set_len(len)?;
    // SAFETY: an open descriptor; no pointers are passed.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) })?;
    Ok(file.into())
}

/// An anonymous file without bytes, which grows as this process writes it.
pub fn scratch(name: &std::ffi::CStr) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a NUL-terminated name and valid flags.
    Ok(owned(unsafe { libc::memfd_create(name.as_ptr(), flags) })?.into())
}

/// Nobody changes the size of a memfd, nor its seals (F_ADD_SEALS in fcntl(2)).
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Whether the size of a file can't change any more: it is a memfd, sealed as [`memfd`] does.
pub fn has_sealed_size(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: an open descriptor; no pointers are passed.
    let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & SIZE_SEALS == SIZE_SEALS
}

/// Whether nobody can make a memfd shorter. A seal that is missing is set, where its maker allows seals.
pub fn seal_against_shrinking(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: an open descriptor; no pointers are passed.
    let sealed = || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
    match sealed() {
        seals if seals < 0 => false,
        seals if seals & libc::F_SEAL_SHRINK != 0 => true,
        _ => {
            // SAFETY: as above.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
            let seals = sealed();
            seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
        }
    }
}

/// A counter that wakes pollers.
pub fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// A FIFO without a name, for both directions. A process that gets the descriptor [reopens](reopen_fifo) it, for flags of its own: an
/// eventfd can't be opened again, so its other holders may make it block. Any user with the descriptor may do that.
pub fn fifo() -> io::Result<OwnedFd> {
    let (read, _write) = io::pipe()?;
    let read = File::from(OwnedFd::from(read));
    read.set_permissions(Permissions::from_mode(0o666))?;
    reopen_fifo(read.as_fd())
}

/// A FIFO with an open file description of its own, which does not block.
///
/// # Errors
/// `InvalidInput` when the descriptor is none of a FIFO: to open a device may do things. What the kernel says.
pub fn reopen_fifo(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let copy = File::from(fd.try_clone_to_owned()?);
    if !copy.metadata()?.file_type().is_fifo() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let path = format!("/proc/thread-self/fd/{}", copy.as_raw_fd());
    Ok(File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?.into())
}

/// Wakes a process that polls an eventfd or FIFO. A full one is already readable, so EAGAIN is success.
pub fn ring_bell(fd: BorrowedFd<'_>) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: writes 8 bytes from a local array. The result is of no interest: see above.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), 8) };
}

/// Makes an eventfd or FIFO unreadable again. Takes at most what a FIFO holds: a peer that rings without end costs a wake-up, not the
/// caller's time.
pub fn drain_bell(fd: BorrowedFd<'_>) {
    const FIFO: usize = 64 << 10;
    let mut buf = [0u8; 512];
    for _ in 0..FIFO / buf.len() {
        // SAFETY: reads at most the array's size into it; the descriptor does not block.
        let read = unsafe { libc::read(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) };
        if read != buf.len() as isize {
            return;
        }
    }
}

/// A timer that wakes pollers.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is stopped.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers are passed.
        Ok(Self(owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?))
    }

    /// Fires once after `ns` nanoseconds, at least one; `None` stops it. An earlier expiry is forgotten.
    pub fn set(&self, ns: Option<u64>) -> io::Result<()> {
        let ns = ns.map_or(0, |n| n.max(1));
        let at = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let spec = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        // SAFETY: `spec` lives across the call; the old value is not asked for.
        check(unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &spec, std::ptr::null_mut()) }).map(drop)
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An epoll instance; its descriptor is itself pollable and readable when a member is.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// An epoll that watches nothing.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        Ok(Self(owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?))
    }

    /// Adds `fd` for readability; adding one twice is not an error.
    pub fn add(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let mut ev = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
        // SAFETY: `ev` lives across the call.
        match check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut ev) }) {
            Err(e) if e.raw_os_error() != Some(libc::EEXIST) => Err(e),
            _ => Ok(()),
        }
    }

    /// Removes `fd`, if it is a member.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        let fd = fd.as_raw_fd();
        // SAFETY: a null event is right for this operation.
        unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) };
    }

    /// Sleeps until a member is readable, the time is over (`-1` waits for ever) or a signal came.
    pub fn wait(&self, timeout_ms: i32) -> io::Result<bool> {
        let mut ev = [libc::epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: the kernel writes at most 8 events to the array.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), ev.as_mut_ptr(), 8, timeout_ms) };
        match check(n) {
            Ok(n) => Ok(n > 0),
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A descriptor that is readable when a socket is, but only while somebody sleeps. A socket that is watched all the time runs a
/// callback for each frame that comes or leaves.
#[derive(Debug)]
pub struct Watch {
    epoll: Epoll,
    armed: AtomicBool,
}

impl Watch {
    /// A watch that is not armed.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: Epoll::new()?, armed: AtomicBool::new(false) })
    }

    /// Watches the socket until [`disarm`](Self::disarm).
    pub fn arm(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.armed.store(true, Relaxed);
        self.epoll.add(socket)
    }

    /// Looks away; costs nothing when it is not armed.
    #[inline]
    pub fn disarm(&self, socket: BorrowedFd<'_>) {
        if self.armed.load(Relaxed) {
            self.armed.store(false, Relaxed);
            self.epoll.remove(socket);
        }
    }

    /// Whether it is armed now.
    pub fn is_armed(&self) -> bool {
        self.armed.load(Relaxed)
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// A lock on one byte of a file, owned by the open file description: gone with the last descriptor of it, so
/// also after SIGKILL (fcntl(2), "Open file description locks").
pub fn lock_byte(fd: BorrowedFd<'_>, byte: i64, wait: bool) -> io::Result<bool> {
    lock_op(fd, byte, libc::F_WRLCK, if wait { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK })
}

/// Gives back a lock taken with [`lock_byte`].
pub fn unlock_byte(fd: BorrowedFd<'_>, byte: i64) -> io::Result<bool> {
    lock_op(fd, byte, libc::F_UNLCK, libc::F_OFD_SETLK)
}

fn lock_op(fd: BorrowedFd<'_>, byte: i64, kind: i32, op: i32) -> io::Result<bool> {
    // SAFETY: flock is plain data; zero is a valid value for each field.
    let mut l: libc::flock = unsafe { std::mem::zeroed() };
    l.l_type = kind as i16;
    l.l_whence = libc::SEEK_SET as i16;
    l.l_start = byte;
    l.l_len = 1;
    loop {
        // SAFETY: `l` lives across the call.
        match check(unsafe { libc::fcntl(fd.as_raw_fd(), op, &mut l) }) {
            Ok(_) => return Ok(true),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// A descriptor that is always readable.
pub fn always_ready() -> io::Result<Arc<OwnedFd>> {
    let bell = eventfd()?;
    ring_bell(bell.as_fd());
    Ok(Arc::new(bell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bell_wakes_epoll_until_drained() {
        let (bell, poll) = (eventfd().unwrap(), Epoll::new().unwrap());
        poll.add(bell.as_fd()).unwrap();
        poll.add(bell.as_fd()).unwrap();
        assert!(!poll.wait(0).unwrap());
        ring_bell(bell.as_fd());
        assert!(poll.wait(0).unwrap());
        drain_bell(bell.as_fd());
        assert!(!poll.wait(0).unwrap());
    }

    #[test]
    fn a_seal_that_is_missing_is_set() {
        let open = scratch(c"open").unwrap();
        assert!(seal_against_shrinking(open.as_fd()) && open.set_len(0).is_ok() && open.set_len(1).is_ok());
        assert!(open.set_len(0).is_err());
        let other = File::open("/dev/null").unwrap();
        assert!(!seal_against_shrinking(other.as_fd()));
    }

    #[test]
    fn a_lock_belongs_to_one_open_file() {
        let fd = memfd(c"lock", 4096).unwrap();
        let other = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/thread-self/fd/{}", fd.as_raw_fd()))
            .unwrap();
        assert!(lock_byte(fd.as_fd(), 1, false).unwrap());
        assert!(!lock_byte(other.as_fd(), 1, false).unwrap());
        assert!(lock_byte(other.as_fd(), 2, false).unwrap());
        drop(fd);
        // A process that another test is starting has a copy for a moment.
        assert!((0..60_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            lock_byte(other.as_fd(), 1, false).unwrap()
        }));
    }
}
