//! The exported functions: C's arguments in, C's results out.
//!
//! All pointers come from C programs, which keep the contract of ringway.h. The library gave each handle, and it was not freed. Texts
//! end with a NUL. Arrays have as many elements as the program says. The functions look for null and for addresses that
//! are not aligned. They are not marked unsafe, as no Rust code calls them. No panic leaves them: see [`status`] and [`or`].
#![allow(unsafe_code, reason = "C programs pass pointers")]

mod arrays;
mod counters;
mod engines;
mod errors;
mod options;
mod ports;
mod regions;
mod rings;
mod routes;
mod switch_conf;
mod switches;

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ringway::{Error, ErrorKind, Result};

use crate::last_error;

/// The result of a function that may fail: what it gives, or the negative kind of its failure, which the thread keeps.
fn status(call: impl FnOnce() -> Result<c_int>) -> c_int {
    match caught(call) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => last_error::set(&error),
        Err(kind) => kind,
    }
}

/// The result of a function that does not fail with a kind: what it gives, or `none` when it fails.
fn or<T>(none: T, call: impl FnOnce() -> Result<T>) -> T {
    match caught(call) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            last_error::set(&error);
            none
        }
        Err(_) => none,
    }
}

/// Keeps panics from the program. What a call has left half done is only the library's own, and it checks that again.
fn caught<T>(call: impl FnOnce() -> T) -> std::result::Result<T, c_int> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        last_error::set_internal(text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic"))
    })
}

fn invalid(what: String, cure: &str) -> Error {
    Error::new(ErrorKind::Invalid, "ringway", what).cure(cure)
}

/// Refuses null, and addresses at which no such value can lie.
fn check<T>(at: *const T, what: &str) -> Result<()> {
    if at.is_null() {
        return Err(invalid(format!("{what} is NULL"), "pass what another function gave, or an address"));
    }
    if !at.is_aligned() {
        return Err(invalid(format!("{what} is no address of such a value"), "pass a pointer of its type"));
    }
    Ok(())
}

/// What a pointer leads to.
fn shared<'a, T>(at: *const T, what: &str) -> Result<&'a T> {
    check(at, what)?;
    // SAFETY: not null and aligned; the program passes live values of this type.
    Ok(unsafe { &*at })
}

/// The same, to change it. The program lets no other thread use it meanwhile.
fn exclusive<'a, T>(at: *mut T, what: &str) -> Result<&'a mut T> {
    check(at, what)?;
    // SAFETY: as in `shared`, and used by the calling thread alone.
    Ok(unsafe { &mut *at })
}

/// So many values, one behind the other.
fn several<'a, T>(at: *const T, n: usize, what: &str) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    check_array(at, n, what)?;
    // SAFETY: not null and aligned, of a size that an array can have; the program says that so many are there.
    Ok(unsafe { std::slice::from_raw_parts(at, n) })
}

/// The same, to change them.
fn several_mut<'a, T>(at: *mut T, n: usize, what: &str) -> Result<&'a mut [T]> {
    if n == 0 {
        return Ok(&mut []);
    }
    check_array(at, n, what)?;
    // SAFETY: as in `several`; the program lets no other thread use them meanwhile.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, n) })
}

fn check_array<T>(at: *const T, n: usize, what: &str) -> Result<()> {
    check(at, what)?;
    if n.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(invalid(format!("{n} are more than memory has room for"), "pass how many there are"));
    }
    Ok(())
}

/// Stores a result where the program wants it.
fn store<T>(at: *mut T, value: T) {
    // SAFETY: callers looked with `check`: not null and aligned, and the program has a place for such a value there.
    unsafe { at.write(value) };
}

/// A text of the program.
fn text<'a>(at: *const c_char, what: &str) -> Result<&'a str> {
    check(at, what)?;
    // SAFETY: not null; it ends with a NUL and outlives the call.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| invalid(format!("{what} is no UTF-8"), "pass text"))
}

/// The same, where NULL stands for no text.
fn text_or_none<'a>(at: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if at.is_null() { Ok(None) } else { text(at, what).map(Some) }
}

/// Gives a value to the program as a handle.
fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back and ends its value; nothing for NULL.
fn free<T>(handle: *mut T) {
    if check(handle, "handle").is_ok() {
        // SAFETY: `give` made it, and the program does not use it again. A panic while it is dropped goes no further.
        let _ = caught(|| drop(unsafe { Box::from_raw(handle) }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_a_text() {
        assert_eq!(status(|| panic!("slot {} of 2", 3)), -11);
        let seen = last_error::show(
            |kind, text, cure| (kind, text.to_owned(), cure.is_some()),
            (0, c"".into(), false),
        );
        assert!(seen.0 == -11 && seen.2 && seen.1.to_string_lossy().contains("slot 3 of 2"), "{seen:?}");
        assert_eq!(or(7, || panic!("no more")), 7);
    }

    #[test]
    fn arrays_larger_than_memory_are_refused() {
        let one = 1u64;
        assert!(several(&raw const one, usize::MAX, "the array").is_err());
        assert!(several(std::ptr::null::<u64>(), 1, "the array").is_err());
        assert_eq!(several(std::ptr::null::<u64>(), 0, "the array").unwrap().len(), 0);
        assert_eq!(several(&raw const one, 1, "the array").unwrap(), [1]);
    }

    #[test]
    fn text_is_text() {
        assert_eq!(text(c"loop:".as_ptr(), "the name").unwrap(), "loop:");
        assert!(text(c"\xff".as_ptr(), "the name").unwrap_err().to_string().contains("no UTF-8"));
        assert!(text_or_none(std::ptr::null(), "the filter").unwrap().is_none());
    }
}
