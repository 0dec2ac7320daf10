//! System calls that `std` does not have. The only unsafe code of this crate.
#![allow(unsafe_code, reason = "system calls that std lacks")]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;

/// An anonymous file with `bytes` in it, ready to be executed. Closed in children once they have executed it.
pub(super) fn executable(name: &CStr, bytes: &[u8]) -> io::Result<File> {
    // Kernels before 6.3 do not know MFD_EXEC; later ones may refuse to execute without it.
    let mut file =
        memfd(name, libc::MFD_CLOEXEC | libc::MFD_EXEC).or_else(|_| memfd(name, libc::MFD_CLOEXEC))?;
    file.write_all(bytes)?;
    Ok(file)
}

fn memfd(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: `name` is a C string that outlives the call.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: memfd_create has just returned this descriptor; nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}
