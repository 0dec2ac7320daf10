//! Calls that read from a descriptor or write to it. The socket of a netmap descriptor has its state in its queue, which a read would take
//! away: the program gets the errors that netmap's device has for them. For any other descriptor a call costs one load more.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use ringway_shim::fail;

use super::find::find;
use super::given::received;
use crate::descriptors;
use crate::inside::Inside;
use crate::sys::real;

/// Whether the number is a netmap descriptor, and the call one of the program.
fn is_netmap(fd: c_int) -> bool {
    descriptors::is(fd) && Inside::enter().is_some_and(|_inside| find(fd).is_some())
}

macro_rules! refused {
    ($($name:ident as $real:ident($($arg:ident: $type:ty),*) -> $ret:ty, $code:ident;)*) => {$(
        /// # Safety
        /// As that function of libc.
        #[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name(fd: c_int, $($arg: $type),*) -> $ret {
            if is_netmap(fd) {
                return fail(libc::$code) as $ret;
            }
            // SAFETY: the caller's arguments.
            unsafe { real::$real(fd, $($arg),*) }
        }
    )*};
}

/// # Safety
/// As recvmsg(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t {
    if is_netmap(fd) {
        return fail(libc::ENOTSOCK) as ssize_t;
    }
    // SAFETY: the caller's arguments.
    let n = unsafe { real::recvmsg(fd, msg, flags) };
    if n >= 0 {
        // SAFETY: the kernel has just filled the message.
        unsafe { received(msg) };
    }
    n
}

refused! {
    read as read(bytes: *mut c_void, len: size_t) -> ssize_t, EINVAL;
    __read_chk as read_chk(bytes: *mut c_void, len: size_t, room: size_t) -> ssize_t, EINVAL;
    readv as readv(iov: *const iovec, n: c_int) -> ssize_t, EINVAL;
    write as write(bytes: *const c_void, len: size_t) -> ssize_t, EINVAL;
    writev as writev(iov: *const iovec, n: c_int) -> ssize_t, EINVAL;
    recv as recv(bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t, ENOTSOCK;
    __recv_chk as recv_chk(bytes: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t, ENOTSOCK;
    recvfrom as recvfrom(
        bytes: *mut c_void, len: size_t, flags: c_int, from: *mut sockaddr, fromlen: *mut socklen_t
    ) -> ssize_t, ENOTSOCK;
    __recvfrom_chk as recvfrom_chk(
        bytes: *mut c_void, len: size_t, room: size_t, flags: c_int, from: *mut sockaddr, fromlen: *mut socklen_t
    ) -> ssize_t, ENOTSOCK;
    recvmmsg as recvmmsg(msgs: *mut mmsghdr, n: c_uint, flags: c_int, wait: *mut timespec) -> c_int, ENOTSOCK;
    send as send(bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t, ENOTSOCK;
    sendto as sendto(
        bytes: *const c_void, len: size_t, flags: c_int, to: *const sockaddr, tolen: socklen_t
    ) -> ssize_t, ENOTSOCK;
    sendmsg as sendmsg(msg: *const msghdr, flags: c_int) -> ssize_t, ENOTSOCK;
    sendmmsg as sendmmsg(msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int, ENOTSOCK;
}
