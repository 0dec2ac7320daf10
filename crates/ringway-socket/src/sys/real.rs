//! The functions of libc that ours stand before, found by `dlsym(RTLD_NEXT)` when they are first called.
//!
//! Another library's constructor may call ours before any of our code ran, so nothing is set up in advance.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{
    epoll_event, fd_set, iovec, mmsghdr, msghdr, nfds_t, off_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval,
};

fn find(name: &CStr, at: &AtomicPtr<c_void>) -> *mut c_void {
    let known = at.load(Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a NUL-terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    at.store(found, Relaxed);
    found
}

/// What a function that this libc lacks answers.
fn missing() -> isize {
    super::guard::set_errno(libc::ENOSYS);
    -1
}

macro_rules! real {
    ($($name:literal $fn:ident($($arg:ident: $type:ty),* $(; $rest:ident: $rtype:ty)?) -> $ret:ty;)*) => {$(
        #[doc = concat!("`", $name, "` of libc.")]
        ///
        /// # Safety
        /// As that function.
        #[inline]
        pub(crate) unsafe fn $fn($($arg: $type,)* $($rest: $rtype)?) -> $ret {
            static AT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let name = concat!($name, "\0");
            // The name is a literal without another NUL.
            let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { return missing() as $ret };
            let found = find(name, &AT);
            if found.is_null() {
                return missing() as $ret;
            }
            real!(@call found ($($arg: $type),*) ($($rest: $rtype)?) $ret)
        }
    )*};
    (@call $found:ident ($($arg:ident: $type:ty),*) () $ret:ty) => {{
        // SAFETY: libc's function of this name has this type; the caller keeps its rules.
        unsafe {
            let f: unsafe extern "C-unwind" fn($($type),*) -> $ret = std::mem::transmute($found);
            f($($arg),*)
        }
    }};
    (@call $found:ident ($($arg:ident: $type:ty),*) ($rest:ident: $rtype:ty) $ret:ty) => {{
        // SAFETY: as above, for a function with optional arguments.
        unsafe {
            let f: unsafe extern "C-unwind" fn($($type,)* ...) -> $ret = std::mem::transmute($found);
            f($($arg,)* $rest)
        }
    }};
}

real! {
    "socket" socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    "bind" bind(fd: c_int, at: *const sockaddr, len: socklen_t) -> c_int;
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
