//! ioctl(2) and mmap(2) of netmap descriptors.

use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::AsRawFd;

use libc::{off_t, size_t};
use ringway_shim::{errno, fail, set_errno};

use super::find::find;
use crate::descriptors;
use crate::inside::Inside;
use crate::memory::Errno;
use crate::numbers::{NIOCCONFIG, NIOCCTRL, NIOCGINFO, NIOCREGIF, NIOCRXSYNC, NIOCTXSYNC};
use crate::sys::own_memory::OwnMemory;
use crate::sys::real;

/// Serves a request; `None` when the number is no netmap descriptor.
fn serve(fd: c_int, request: u32, arg: usize) -> Option<c_int> {
    let inside = Inside::enter()?;
    let known = match request {
        NIOCTXSYNC | NIOCRXSYNC => descriptors::get(fd),
        _ => None,
    };
    let descriptor = match known {
        Some(descriptor) => descriptor,
        None => find(fd)?,
    };
    let done = descriptor.ioctl(request, arg as u64, &mut OwnMemory);
    drop(descriptor);
    drop(inside);
    Some(done.unwrap_or_else(|Errno(code)| fail(code)))
}

/// # Safety
/// As ioctl(2); the others of this file as theirs.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn ioctl(fd: c_int, what: c_ulong, arg: usize) -> c_int {
    // Programs that have it in an `int` extend its sign.
    let request = what as u32;
    if matches!(request, NIOCTXSYNC | NIOCRXSYNC | NIOCCTRL | NIOCREGIF | NIOCGINFO | NIOCCONFIG)
        && let Some(done) = serve(fd, request, arg)
    {
        return done;
    }
    // SAFETY: the caller's arguments; one that it did not give is whatever its register held, and goes on as such.
    unsafe { real::ioctl(fd, what, arg) }
}

/// The arguments of mmap(2).
#[derive(Clone, Copy)]
struct Asked {
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
}

type Map = unsafe fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;

/// Maps by `map`, libc's function.
///
/// # Safety
/// As mmap(2).
unsafe fn mapped(asked: Asked, map: Map) -> *mut c_void {
    let file = asked.fd >= 0 && asked.flags & libc::MAP_ANONYMOUS == 0;
    if file && descriptors::is(asked.fd) {
        // SAFETY: the caller's arguments.
        if let Some(done) = unsafe { region(asked, map) } {
            return done;
        }
    }
    let Asked { at, len, prot, flags, fd, ofs } = asked;
    // SAFETY: the caller's arguments.
    let done = unsafe { map(at, len, prot, flags, fd, ofs) };
    // The kernel does not map sockets.
    if done == libc::MAP_FAILED && file && errno() == libc::ENODEV {
        // SAFETY: the caller's arguments.
        let served = unsafe { region(asked, map) };
        return served.unwrap_or_else(|| {
            set_errno(libc::ENODEV);
            done
        });
    }
    done
}

/// Maps the region that the descriptor is bound to; `None` when the number is no netmap descriptor.
///
/// # Safety
/// As mmap(2).
unsafe fn region(asked: Asked, map: Map) -> Option<*mut c_void> {
    let inside = Inside::enter()?;
    let descriptor = find(asked.fd)?;
    let done = match descriptor.memory() {
        Err(Errno(code)) => Err(code),
        Ok((_, size)) if !fits(asked, size) => Err(libc::EINVAL),
        Ok((memory, _)) => {
            let flags = asked.flags & !libc::MAP_TYPE | libc::MAP_SHARED;
            // SAFETY: the caller's arguments, with the region's descriptor, which is open as long as `descriptor` is used.
            let at = unsafe { map(asked.at, asked.len, asked.prot, flags, memory.as_raw_fd(), asked.ofs) };
            if at == libc::MAP_FAILED { Err(errno()) } else { Ok(at) }
        }
    };
    drop(descriptor);
    drop(inside);
    Some(done.unwrap_or_else(|code| {
        set_errno(code);
        libc::MAP_FAILED
    }))
}

/// Whether a mapping lies inside a region of this size.
fn fits(asked: Asked, size: usize) -> bool {
    let from = usize::try_from(asked.ofs).ok();
    from.and_then(|from| from.checked_add(asked.len)).is_some_and(|end| end <= size)
}

/// # Safety
/// As mmap(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn mmap(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { mapped(Asked { at, len, prot, flags, fd, ofs }, real::mmap) }
}

/// # Safety
/// As mmap(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn mmap64(
    at: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    ofs: off_t,
) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { mapped(Asked { at, len, prot, flags, fd, ofs }, real::mmap64) }
}
