//! The last failure of a thread, and the version.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null;

use crate::last_error;

#[unsafe(no_mangle)]
extern "C" fn rw_error() -> *const c_char {
    last_error::show(|_, text, _| text.as_ptr(), c"".as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn rw_error_kind() -> c_int {
    last_error::show(|kind, _, _| kind, 0)
}

#[unsafe(no_mangle)]
extern "C" fn rw_error_cure() -> *const c_char {
    last_error::show(|_, _, cure| cure.map_or(null(), CStr::as_ptr), null())
}

#[unsafe(no_mangle)]
extern "C" fn rw_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
