//! The last failure of each thread, as `rw_error` and its like give it.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};

use ringway::{Error, ErrorKind};

/// A failure as C programs see it.
#[derive(Debug, Default)]
struct Failure {
    kind: c_int,
    text: CString,
    cure: Option<CString>,
}

thread_local!(static LAST: RefCell<Failure> = RefCell::default());

/// `RW_INTERNAL`.
const INTERNAL: c_int = -11;

/// The number of a kind, in enum rw_error_kind.
fn number(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::BadName => -1,
        ErrorKind::NotFound => -2,
        ErrorKind::Busy => -3,
        ErrorKind::Denied => -4,
        ErrorKind::Unsupported => -5,
        ErrorKind::Gone => -6,
        ErrorKind::LinkDown => -7,
        ErrorKind::Invalid => -8,
        ErrorKind::Unfit => -9,
        _ => -10,
    }
}

/// Text for C, which ends at the first NUL.
pub(crate) fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// Keeps a failure of this thread; returns the number of its kind.
pub(crate) fn set(error: &Error) -> c_int {
    let kind = number(error.kind());
    keep(kind, &error.to_string(), error.remedy())
}

/// Keeps a fault of the library itself.
pub(crate) fn set_internal(what: &str) -> c_int {
    let cure = "report it, with what the process printed";
    keep(INTERNAL, &format!("ringway: a fault of the library was caught: {what}; {cure}"), Some(cure))
}

fn keep(kind: c_int, text: &str, cure: Option<&str>) -> c_int {
    let failure = Failure { kind, text: c_text(text), cure: cure.map(c_text) };
    // A thread that ends has no texts any more; its results still say what kind of failure it was.
    let _ = LAST.try_with(|last| last.replace(failure));
    kind
}

/// Shows the last failure's kind, text and cure; `none` when the thread ends.
pub(crate) fn show<T>(look: impl FnOnce(c_int, &CStr, Option<&CStr>) -> T, none: T) -> T {
    LAST.try_with(|last| {
        let last = last.borrow();
        look(last.kind, &last.text, last.cure.as_deref())
    })
    .unwrap_or(none)
}
