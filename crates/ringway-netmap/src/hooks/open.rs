//! Opens of the device.

use std::ffi::{c_char, c_int};
use std::os::fd::{AsRawFd, IntoRawFd};

use libc::mode_t;
use ringway_shim::{errno, fail};

use super::close::closing;
use super::find::{DEVICE, is_device};
use super::given::given;
use crate::descriptor::Descriptor;
use crate::inside::Inside;
use crate::memory::{CallerMemory, Errno};
use crate::sys::own_memory::OwnMemory;
use crate::sys::{kernel, real};
use crate::{descriptors, internal, process};

/// What open(2) fails with where there is no device that the program may open; the kernel has read the path then.
const ABSENT: [c_int; 6] = [libc::ENOENT, libc::ENXIO, libc::ENODEV, libc::EACCES, libc::EPERM, libc::EROFS];

/// What the program gets: by `real`, or the device.
///
/// # Safety
/// As open(2), which `real` does with the same path and flags.
unsafe fn opened(path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // The kernel would make a file where there is none.
    if flags & libc::O_CREAT != 0
        && names_device(path as u64)
        && let Some(_inside) = Inside::enter()
    {
        return device(flags);
    }
    let done = real();
    if done >= 0 {
        drop(closing(done)); // by a way that no hook saw, if it stood for something
        given(&[done]);
    }
    if done < 0 && !ABSENT.contains(&errno()) || flags & (libc::O_PATH | libc::O_DIRECTORY) == libc::O_PATH {
        return done;
    }
    // SAFETY: the kernel has just read it.
    if !unsafe { is_device(path) } {
        return done;
    }
    let Some(inside) = Inside::enter() else { return done };
    if done >= 0 {
        // The device of netmap's module, or a file by its name.
        // SAFETY: the descriptor that the kernel just gave, which nobody else knows.
        unsafe { real::close(done) };
    }
    let made = device(flags);
    drop(inside);
    made
}

/// Whether the path at an address is the device's. Nobody has looked yet whether the address is good.
fn names_device(at: u64) -> bool {
    let mut path = [0; DEVICE.len()];
    OwnMemory.read(at, &mut path).is_ok_and(|()| path == DEVICE)
}

/// A new descriptor, or -1 with `errno`.
fn device(flags: c_int) -> c_int {
    process::prepare();
    create(flags).unwrap_or_else(|Errno(code)| fail(code))
}

fn create(flags: c_int) -> Result<c_int, Errno> {
    let (fd, descriptor) = Descriptor::create(flags & libc::O_CLOEXEC != 0)?;
    if flags & libc::O_NONBLOCK != 0 {
        kernel::set_nonblocking(&fd);
    }
    internal::given(&[fd.as_raw_fd()]);
    if !descriptors::add(fd.as_raw_fd(), descriptor) {
        return Err(Errno(libc::EMFILE));
    }
    Ok(fd.into_raw_fd())
}

/// # Safety
/// As open(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments; a mode that it did not give is whatever its register held, and goes on as such.
    unsafe { opened(path, flags, || real::open(path, flags, mode)) }
}

/// # Safety
/// As open(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's arguments; a mode that it did not give is whatever its register held, and goes on as such.
    unsafe { opened(path, flags, || real::open64(path, flags, mode)) }
}

/// # Safety
/// As openat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn openat(at: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: as for `open`.
    unsafe { opened(path, flags, || real::openat(at, path, flags, mode)) }
}

/// # Safety
/// As openat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn openat64(
    at: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: as for `open`.
    unsafe { opened(path, flags, || real::openat64(at, path, flags, mode)) }
}

/// # Safety
/// As open(2) without a mode.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, flags, || real::open_2(path, flags)) }
}

/// # Safety
/// As open(2) without a mode.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, flags, || real::open64_2(path, flags)) }
}

/// # Safety
/// As openat(2) without a mode.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, flags, || real::openat_2(at, path, flags)) }
}

/// # Safety
/// As openat(2) without a mode.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, flags, || real::openat64_2(at, path, flags)) }
}
