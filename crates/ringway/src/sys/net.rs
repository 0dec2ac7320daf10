//! What the kernel says about network interfaces.

use std::ffi::CString;
use std::io;

/// Index of the interface `name` in the current network namespace.
pub(crate) fn index(name: &str) -> io::Result<u32> {
    let c = CString::new(name)?;
    // SAFETY: a NUL-terminated name.
    match unsafe { libc::if_nametoindex(c.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        i => Ok(i),
    }
}

/// Whether an interface of that name exists.
pub(crate) fn exists(name: &str) -> bool {
    index(name).is_ok()
}
