//! The other library that `ringway run` preloads: it passes this one's own calls on to libc while a thread is inside this one.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Stands for a function that nobody has.
static NOBODY: u8 = 0;

static ENTER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static LEAVE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

fn find(name: &CStr, at: &AtomicPtr<c_void>) -> Option<*mut c_void> {
    let nobody = (&raw const NOBODY).cast_mut().cast::<c_void>();
    let mut known = at.load(Relaxed);
    if known.is_null() {
        // SAFETY: a NUL-terminated name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        known = if found.is_null() { nobody } else { found };
        at.store(known, Relaxed);
    }
    (known != nobody).then_some(known)
}

/// Has the other library, if it is there, pass this thread's calls on; false when the thread is inside it.
#[inline]
pub(crate) fn enter() -> bool {
    let Some(at) = find(c"ringway_preload_enter", &ENTER) else { return true };
    // SAFETY: the function of this name has this type (ringway-socket, `hooks::guest`).
    let f: unsafe extern "C-unwind" fn() -> c_int = unsafe { std::mem::transmute(at) };
    // SAFETY: it takes nothing.
    unsafe { f() != 0 }
}

/// The end of an [`enter`] that said true.
#[inline]
pub(crate) fn leave() {
    let Some(at) = find(c"ringway_preload_leave", &LEAVE) else { return };
    // SAFETY: the function of this name has this type.
    let f: unsafe extern "C-unwind" fn() = unsafe { std::mem::transmute(at) };
    // SAFETY: it takes nothing.
    unsafe { f() };
}
