//! System calls that have no safe form elsewhere.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

unsafe extern "C-unwind" {
    /// libc's, which a thread may be cancelled in: as in libpcap's own wait, a cancelled reader must end here.
    fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: libc::c_int) -> libc::c_int;
    fn atexit(run: extern "C" fn()) -> libc::c_int;
}

/// Sleeps until one of the descriptors is readable or `timeout` (-1: for ever) milliseconds are over; false after a signal.
pub(crate) fn wait(fds: &mut [libc::pollfd], timeout: i32) -> io::Result<bool> {
    // SAFETY: the kernel writes to the elements of `fds` only.
    if unsafe { poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) } >= 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::EINTR) => Ok(false),
        e => Err(e),
    }
}

pub(crate) fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Adds `fd` for readability; adding one twice is no error. A closed descriptor leaves by itself.
pub(crate) fn epoll_add(epoll: RawFd, fd: RawFd) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
    // SAFETY: the event lives across the call.
    if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        e => Err(e),
    }
}

/// Sets what C programs find in `errno`.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: the address of the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs `run` when the program ends by `exit` or returns from `main`.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: a function that stays loaded until then. Without memory for it there is nothing to do.
    let _ = unsafe { atexit(run) };
}

/// Calls these before each fork, and after it in the parent and in the child.
pub(crate) fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    let wrap = |f: extern "C" fn()| -> unsafe extern "C" fn() { f };
    // SAFETY: functions without arguments. They live as long as the library: its thread-local data keeps it loaded.
    unsafe { libc::pthread_atfork(Some(wrap(before)), Some(wrap(in_parent)), Some(wrap(in_child))) };
}

/// Runs `f` with all signals blocked, for threads to be made that never run a handler of the program.
pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals are plain data; both live across the calls.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let done = f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        done
    }
}

/// Has the calling thread's timers end when they should, instead of up to 50 us later.
pub(crate) fn exact_timers() {
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Has the interface receive frames for every address, for as long as the result lives. The kernel counts who asked, also when
/// one of them is killed.
pub(crate) fn promiscuous(interface: &str) -> io::Result<OwnedFd> {
    let name = CString::new(interface)?;
    // SAFETY: a NUL-terminated name.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // By number, so that a library that serves packet sockets leaves this one alone. Protocol 0 receives nothing.
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::syscall(libc::SYS_socket, libc::AF_PACKET, kind, 0) } as i32;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let request = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    // SAFETY: the structure that this option takes, with its size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_setsockopt,
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &raw const request,
            size_of::<libc::packet_mreq>(),
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

/// Runs [`start`](crate::tally::start) when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn start() {
        crate::tally::start();
    }
    start
};
