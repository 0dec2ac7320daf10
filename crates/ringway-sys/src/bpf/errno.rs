//! Errors of libbpf.

use std::io;

/// libbpf returns `-errno`.
pub(crate) fn check(ret: i32) -> io::Result<i32> {
    if ret < 0 { Err(io::Error::from_raw_os_error(-ret)) } else { Ok(ret) }
}
