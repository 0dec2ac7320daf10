//! The functions of libc that ours stand before.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{
    epoll_event, fd_set, iovec, mmsghdr, mode_t, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval,
};

ringway_shim::next_functions! {
    "open" open(path: *const c_char, flags: c_int; mode: mode_t) -> c_int;
    "open64" open64(path: *const c_char, flags: c_int; mode: mode_t) -> c_int;
    "openat" openat(at: c_int, path: *const c_char, flags: c_int; mode: mode_t) -> c_int;
    "openat64" openat64(at: c_int, path: *const c_char, flags: c_int; mode: mode_t) -> c_int;
    "__open_2" open_2(path: *const c_char, flags: c_int) -> c_int;
    "__open64_2" open64_2(path: *const c_char, flags: c_int) -> c_int;
    "__openat_2" openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
    "__openat64_2" openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
    "access" access(path: *const c_char, mode: c_int) -> c_int;
    "faccessat" faccessat(at: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int;
    "stat" stat(path: *const c_char, to: *mut libc::stat) -> c_int;
    "lstat" lstat(path: *const c_char, to: *mut libc::stat) -> c_int;
    "fstatat" fstatat(at: c_int, path: *const c_char, to: *mut libc::stat, flags: c_int) -> c_int;
    "stat64" stat64(path: *const c_char, to: *mut libc::stat) -> c_int;
    "lstat64" lstat64(path: *const c_char, to: *mut libc::stat) -> c_int;
    "fstatat64" fstatat64(at: c_int, path: *const c_char, to: *mut libc::stat, flags: c_int) -> c_int;
    "__xstat" xstat(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int;
    "__lxstat" lxstat(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int;
    "__xstat64" xstat64(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int;
    "__lxstat64" lxstat64(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int;
    "statx" statx(at: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut libc::statx) -> c_int;
    "socket" socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    "socketpair" socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int;
    "accept" accept(fd: c_int, from: *mut sockaddr, len: *mut socklen_t) -> c_int;
    "accept4" accept4(fd: c_int, from: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    "eventfd" eventfd(count: c_uint, flags: c_int) -> c_int;
    "memfd_create" memfd_create(name: *const c_char, flags: c_uint) -> c_int;
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
    "read" read(fd: c_int, bytes: *mut c_void, len: size_t) -> ssize_t;
    "__read_chk" read_chk(fd: c_int, bytes: *mut c_void, len: size_t, room: size_t) -> ssize_t;
    "readv" readv(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t;
    "write" write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t;
    "writev" writev(fd: c_int, iov: *const iovec, n: c_int) -> ssize_t;
    "recv" recv(fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    "__recv_chk" recv_chk(fd: c_int, bytes: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t;
    "recvfrom" recvfrom(
        fd: c_int, bytes: *mut c_void, len: size_t, flags: c_int, from: *mut sockaddr, fromlen: *mut socklen_t
    ) -> ssize_t;
    "__recvfrom_chk" recvfrom_chk(
        fd: c_int, bytes: *mut c_void, len: size_t, room: size_t, flags: c_int, from: *mut sockaddr,
        fromlen: *mut socklen_t
    ) -> ssize_t;
    "recvmsg" recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t;
    "recvmmsg" recvmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int, wait: *mut timespec) -> c_int;
    "send" send(fd: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    "sendto" sendto(
        fd: c_int, bytes: *const c_void, len: size_t, flags: c_int, to: *const sockaddr, tolen: socklen_t
    ) -> ssize_t;
    "sendmsg" sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t;
    "sendmmsg" sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int;
    "poll" poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int;
    "ppoll" ppoll(fds: *mut pollfd, n: nfds_t, wait: *const timespec, mask: *const sigset_t) -> c_int;
    "select" select(n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, wait: *mut timeval) -> c_int;
    "pselect" pselect(
        n: c_int, r: *mut fd_set, w: *mut fd_set, e: *mut fd_set, wait: *const timespec, mask: *const sigset_t
    ) -> c_int;
    "epoll_create" epoll_create(size: c_int) -> c_int;
    "epoll_create1" epoll_create1(flags: c_int) -> c_int;
    "epoll_ctl" epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    "epoll_wait" epoll_wait(epoll: c_int, events: *mut epoll_event, n: c_int, ms: c_int) -> c_int;
    "epoll_pwait" epoll_pwait(
        epoll: c_int, events: *mut epoll_event, n: c_int, ms: c_int, mask: *const sigset_t
    ) -> c_int;
    "epoll_pwait2" epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, n: c_int, wait: *const timespec, mask: *const sigset_t
    ) -> c_int;
}
