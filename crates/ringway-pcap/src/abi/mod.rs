//! The exported functions that may concern a port of Ringway. The others are in [`system`](crate::system).
//!
//! A handle is one of Ringway when its first word is the address of [`MARK`]. In the system library's handles that word is the address
//! of one of its functions, or 0; so any handle of either library may be asked.
//!
//! All pointers come from C programs, which keep the contract of pcap.h. A handle is one that an open function gave and `pcap_close` did not
//! take. Texts end with a NUL, and buffers are large enough. Like libpcap, the functions tolerate some faults, such as null for an error buffer.
//! The functions are not marked unsafe, as no Rust code calls them.
#![allow(unsafe_code, reason = "C programs pass pointers")]

mod data;
mod devices;
mod dump;
mod info;
mod open;
mod read;
mod send;

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::Arc;

use crate::handle::Handle;
use crate::types::PcapT;

/// What a program holds for a port of Ringway.
#[repr(C)]
struct Own {
    mark: *const u8,
    handle: Arc<Handle>,
}

static MARK: u8 = 0;

/// Gives a handle to the program.
fn give(handle: Handle) -> *mut PcapT {
    Box::into_raw(Box::new(Own { mark: &raw const MARK, handle: Arc::new(handle) })).cast()
}

/// The handle, if it is one of Ringway.
#[inline]
fn own<'a>(p: *mut PcapT) -> Option<&'a Handle> {
    shared(p).map(|handle| &**handle)
}

/// The same, to be cloned by who goes on using it after a callback may have closed it.
#[inline]
fn shared<'a>(p: *mut PcapT) -> Option<&'a Arc<Handle>> {
    let own = p.cast::<Own>();
    // SAFETY: a handle of either library is larger than a pointer, and starts with one.
    if own.is_null() || unsafe { (*own).mark } != &raw const MARK {
        return None;
    }
    // SAFETY: only `give` makes such a handle, and `take` ends its life.
    Some(unsafe { &(*own).handle })
}

/// Takes a handle back from the program. Reads that go on keep what they need.
fn take(p: *mut PcapT) -> Arc<Handle> {
    // SAFETY: the caller saw that it is one of Ringway, so `give` made it; the program does not use it again.
    let own = unsafe { Box::from_raw(p.cast::<Own>()) };
    own.handle.clone()
}

/// A text of the program; null is the empty text.
fn text<'a>(s: *const c_char) -> std::borrow::Cow<'a, str> {
    if s.is_null() {
        return "".into();
    }
    // SAFETY: it ends with a NUL and outlives the call.
    unsafe { CStr::from_ptr(s) }.to_string_lossy()
}

/// Writes a text to a buffer for errors.
fn say(errbuf: *mut c_char, text: &str) {
    if errbuf.is_null() {
        return;
    }
    let text = crate::status::cut(text);
    // SAFETY: such buffers have `ERRBUF` bytes, one more than any text cut.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), errbuf.cast(), text.len());
        *errbuf.add(text.len()) = 0;
    }
}

/// Stores a result where the program wants it.
fn store<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: a place for such a value.
        unsafe { at.write(value) };
    }
}

/// A copy for the program, to be freed with `free`; null without memory.
fn copy_out<T: Copy>(values: &[T]) -> *mut T {
    // SAFETY: no pointers are passed.
    let at = unsafe { libc::malloc(size_of_val(values)) }.cast::<T>();
    if at.is_null() {
        return null_mut();
    }
    // SAFETY: `at` has just that size, and `malloc` aligns for every type.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), at, values.len()) };
    at
}

/// The dynamic linker runs this when it loads the library.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn start() {
        crate::tally::start();
    }
    start
};
