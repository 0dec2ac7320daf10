//! Mappings of the rings of packet sockets.

use std::ffi::{c_int, c_void};

use libc::{off_t, size_t};
use ringway_shim::ReentryGuard;

use crate::sys::real;
use crate::sys::ring::Mapping;
use crate::{socket, sockets};

/// The program mapped the rings of a socket.
fn mapped(at: *mut c_void, len: size_t, fd: c_int) -> *mut c_void {
    if let Some(socket) = sockets::get(fd)
        && at != libc::MAP_FAILED
        && let Some(_guard) = ReentryGuard::enter()
    {
        // SAFETY: the kernel just made this mapping; when the program unmaps it, `munmap` takes it away again.
        let mapping = unsafe { Mapping::new(at.cast(), len) };
        socket.state().set_mapping(Some(mapping));
    }
    at
}

/// # Safety
/// As mmap(2); the others of this file as theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    mapped(unsafe { real::mmap(at, len, prot, flags, fd, ofs) }, len, fd)
}

/// # Safety
/// As mmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap64(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    mapped(unsafe { real::mmap64(at, len, prot, flags, fd, ofs) }, len, fd)
}

/// # Safety
/// As munmap(2).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(at: *mut c_void, len: size_t) -> c_int {
    if socket::maps() > 0
        && let Some(_guard) = ReentryGuard::enter()
    {
        let nth = |i| socket::all().get(i).copied();
        for socket in (0..).map_while(nth) {
            let mut state = socket.state();
            if state.mapping().is_some_and(|m| m.overlaps(at as usize, len)) {
                state.set_mapping(None);
            }
        }
    }
    // SAFETY: the caller's arguments.
    unsafe { real::munmap(at, len) }
}
