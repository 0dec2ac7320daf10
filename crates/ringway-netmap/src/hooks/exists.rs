//! Questions whether the device is there, which programs ask before they open it. Where the kernel knows no such file, it is a character device
//! that anybody may open.

use std::ffi::{c_char, c_int, c_uint};

use ringway_shim::{ReentryGuard, errno, fail};

use super::find::is_device;
use crate::sys::real;

/// Number and mode of the device.
const DEVICE: (u32, u32) = (10, 58);
const MODE: libc::mode_t = libc::S_IFCHR | 0o666;

/// Whether the kernel failed to find the device, which a program asked for.
///
/// # Safety
/// The kernel has just answered `done` for this path.
unsafe fn is_missing(path: *const c_char, done: c_int) -> bool {
    // SAFETY: the kernel has read it, as it knows that there is no such file.
    done < 0 && errno() == libc::ENOENT && unsafe { is_device(path) } && !ReentryGuard::is_entered()
}

/// # Safety
/// As access(2), of which `done` is the answer.
unsafe fn accessed(path: *const c_char, mode: c_int, done: c_int) -> c_int {
    // SAFETY: by the contract.
    match unsafe { is_missing(path, done) } {
        true if mode & libc::X_OK != 0 => fail(libc::EACCES),
        true => 0,
        false => done,
    }
}

/// # Safety
/// As stat(2), of which `done` is the answer.
unsafe fn described(path: *const c_char, to: *mut libc::stat, done: c_int) -> c_int {
    // SAFETY: by the contract.
    if !unsafe { is_missing(path, done) } {
        return done;
    }
    // SAFETY: plain data, for which zero is a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    (stat.st_mode, stat.st_nlink, stat.st_blksize) = (MODE, 1, 4096);
    stat.st_rdev = libc::makedev(DEVICE.0, DEVICE.1);
    // SAFETY: the program has room for the answer.
    unsafe { to.write_unaligned(stat) };
    0
}

/// # Safety
/// As access(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { accessed(path, mode, real::access(path, mode)) }
}

/// # Safety
/// As faccessat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn faccessat(
    at: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { accessed(path, mode, real::faccessat(at, path, mode, flags)) }
}

/// # Safety
/// As stat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn stat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::stat(path, to)) }
}

/// # Safety
/// As stat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn lstat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::lstat(path, to)) }
}

/// # Safety
/// As stat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn stat64(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::stat64(path, to)) }
}

/// # Safety
/// As stat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn lstat64(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::lstat64(path, to)) }
}

/// # Safety
/// As fstatat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fstatat(
    at: c_int,
    path: *const c_char,
    to: *mut libc::stat,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::fstatat(at, path, to, flags)) }
}

/// # Safety
/// As fstatat(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fstatat64(
    at: c_int,
    path: *const c_char,
    to: *mut libc::stat,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::fstatat64(at, path, to, flags)) }
}

/// # Safety
/// As stat(2), as programs call it that were compiled before glibc 2.33.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __xstat(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::xstat(version, path, to)) }
}

/// # Safety
/// As stat(2), as programs call it that were compiled before glibc 2.33.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __lxstat(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::lxstat(version, path, to)) }
}

/// # Safety
/// As stat(2), as programs call it that were compiled before glibc 2.33.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __xstat64(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::xstat64(version, path, to)) }
}

/// # Safety
/// As stat(2), as programs call it that were compiled before glibc 2.33.
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __lxstat64(
    version: c_int,
    path: *const c_char,
    to: *mut libc::stat,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { described(path, to, real::lxstat64(version, path, to)) }
}

/// # Safety
/// As statx(2).
#[cfg_attr(not(any(test, fuzzing)), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn statx(
    at: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    to: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller's arguments.
    let done = unsafe { real::statx(at, path, flags, mask, to) };
    // SAFETY: the kernel has just answered.
    if !unsafe { is_missing(path, done) } {
        return done;
    }
    // SAFETY: plain data, for which zero is a value.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    stat.stx_mask = mask & (libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_NLINK);
    (stat.stx_mode, stat.stx_nlink, stat.stx_blksize) = (MODE as u16, 1, 4096);
    (stat.stx_rdev_major, stat.stx_rdev_minor) = DEVICE;
    // SAFETY: the program has room for the answer.
    unsafe { to.write_unaligned(stat) };
    0
}
