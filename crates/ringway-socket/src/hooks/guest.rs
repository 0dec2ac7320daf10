//! Another library that is preloaded beside this one says when a thread is inside it: that library's own calls then get libc's functions
//! here too. It finds these two functions by their names.

use std::ffi::c_int;

use ringway_shim::ReentryGuard;

/// The calling thread is inside until `ringway_preload_leave`; 0 when it was inside already, or ends, and then it must not leave.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ringway_preload_enter() -> c_int {
    ReentryGuard::enter().map(ReentryGuard::keep).is_some().into()
}

/// The end of `ringway_preload_enter`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ringway_preload_leave() {
    ReentryGuard::leave();
}
