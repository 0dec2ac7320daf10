//! Numbers of the library stay open when the program closes all. This program contains the library, hooks and all.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use ringway_netmap::internal;

/// Opens a descriptor of a kind that the library has, and one for the program.
fn opened() -> (OwnedFd, RawFd) {
    let flags = rustix::event::EventfdFlags::CLOEXEC;
    let kept = internal::track(|| rustix::event::eventfd(0, flags).unwrap());
    // SAFETY: a path that ends.
    let other = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY) };
    assert!(other > kept.as_raw_fd());
    (kept, other)
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

fn errno() -> Option<i32> {
    Error::last_os_error().raw_os_error()
}

/// In one test: numbers are the whole process's.
#[test]
fn the_program_closes_its_own_only() {
    let (kept, other) = opened();
    let number = kept.as_raw_fd();
    // SAFETY: no memory is involved, and nobody else has the numbers.
    unsafe {
        assert_eq!((libc::close(number), errno()), (-1, Some(libc::EBADF)));
        assert_eq!((libc::dup2(other, number), errno()), (-1, Some(libc::EBUSY)));
        assert_eq!((libc::dup3(other, number, 0), errno()), (-1, Some(libc::EBUSY)));
        assert!(is_open(number));
        assert_eq!(libc::close_range(number as u32, other as u32, 0), 0);
        assert!(is_open(number) && !is_open(other));
        let (second, other) = opened();
        assert_eq!(libc::close_range(number as u32, u32::MAX, 0), 0);
        assert!(is_open(number) && is_open(second.as_raw_fd()) && !is_open(other));
        // The library closes one itself, by a way that no hook sees. Its number is the program's then.
        let other = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        assert_eq!(libc::syscall(libc::SYS_dup2, other, number), number.into());
        assert_eq!((libc::close(number), is_open(number)), (0, false));
        internal::forget(second.as_raw_fd());
        assert_eq!(libc::close(second.as_raw_fd()), 0);
        std::mem::forget((kept, second));
    }
}
