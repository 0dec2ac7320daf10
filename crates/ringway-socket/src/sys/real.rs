//! The functions of libc that ours stand before.

use std::ffi::{c_int, c_void};

use libc::{
    epoll_event, fd_set, iovec, mmsghdr, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval,
};

ringway_shim::next_functions! {
    "socket" socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    "bind" bind(fd: c_int, at: *const sockaddr, len: socklen_t) -> c_int;
    "connect" connect(fd: c_int, to: *const sockaddr, len: socklen_t) -> c_int;
    "shutdown" shutdown(fd: c_int, how: c_int) -> c_int;
    "accept" accept(fd: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int;
    "accept4" accept4(fd: c_int, from: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    "getsockname" getsockname(fd: c_int, at: *mut sockaddr, len: *mut socklen_t) -> c_int;
    "setsockopt" setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int;
    "getsockopt" getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int;
    "close" close(fd: c_int) -> c_int;
    "close_range" close_range(from: u32, to: u32, flags: c_int) -> c_int;
    "dup" dup(fd: c_int) -> c_int;
    "dup2" dup2(from: c_int, to: c_int) -> c_int;
    "dup3" dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
    "fcntl" fcntl(fd: c_int, what: c_int; arg: usize) -> c_int;
    "fcntl64" fcntl64(fd: c_int, what: c_int; arg: usize) -> c_int;
    "ioctl" ioctl(fd: c_int, what: libc::c_ulong; arg: usize) -> c_int;
    "mmap" mmap(at: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, ofs: off_t) -> *mut c_void;
    "mmap64" mmap64(at: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, ofs: off_t) -> *mut c_void;
    "munmap" munmap(at: *mut c_void, len: size_t) -> c_int;
    "send" send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    "sendto" sendto(
        fd: c_int, bytes: *const c_void, len: size_t, flags: c_int, to: *const sockaddr, tolen: socklen_t
    ) -> ssize_t;
    "sendmsg" sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t;
    "sendmmsg" sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: u32, flags: c_int) -> c_int;
    "write" write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t;
    "writev" writev(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t;
    "recv" recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    "recvfrom" recvfrom(
        fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int, from: *mut sockaddr, fromlen: *mut socklen_t
    ) -> ssize_t;
    "recvmsg" recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t;
    "recvmmsg" recvmmsg(fd: c_int, msgs: *mut mmsghdr, n: u32, flags: c_int, wait: *mut timespec) -> c_int;
    "read" read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t;
    "readv" readv(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t;
    "poll" poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int;
    "ppoll" ppoll(fds: *mut pollfd, n: nfds_t, wait: *const timespec, mask: *const sigset_t) -> c_int;
    "select" select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, wait: *mut timeval) -> c_int;
    "pselect" pselect(
        n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, wait: *const timespec, mask: *const sigset_t
    ) -> c_int;
    "epoll_ctl" epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    "epoll_wait" epoll_wait(epoll: c_int, events: *mut epoll_event, n: c_int, ms: c_int) -> c_int;
    "epoll_pwait" epoll_pwait(
        epoll: c_int, events: *mut epoll_event, n: c_int, ms: c_int, mask: *const sigset_t
    ) -> c_int;
    "epoll_pwait2" epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, n: c_int, wait: *const timespec, mask: *const sigset_t
    ) -> c_int;
}

/// `_exit` of libc.
pub(crate) fn exit_now(status: c_int) -> ! {
    // SAFETY: no memory is involved. The system call itself: `_exit` by name is ours.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    std::process::abort()
}
