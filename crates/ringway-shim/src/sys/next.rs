//! The functions of libc that a preloaded library stands before, found by `dlsym(RTLD_NEXT)` when they are first called.
//!
//! Another library's constructor may call ours before any of our code ran, so nothing is set up in advance.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The next function of a name; null when there is none. `at` keeps it.
#[doc(hidden)]
pub fn find_next(name: &CStr, at: &AtomicPtr<c_void>) -> *mut c_void {
    let known = at.load(Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a NUL-terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    at.store(found, Relaxed);
    found
}

/// What a function that this libc lacks answers.
#[doc(hidden)]
pub fn missing() -> isize {
    super::errno::set_errno(libc::ENOSYS);
    -1
}

/// Defines functions that call the ones of libc, or of the next library before it, each by its name and type. One with optional arguments
/// has a single word of them, behind a semicolon.
#[macro_export]
macro_rules! next_functions {
    ($($name:literal $fn:ident($($arg:ident: $type:ty),* $(; $rest:ident: $rtype:ty)?) -> $ret:ty;)*) => {$(
        #[doc = concat!("`", $name, "` of libc.")]
        ///
        /// # Safety
        /// As that function.
        #[inline]
        pub(crate) unsafe fn $fn($($arg: $type,)* $($rest: $rtype)?) -> $ret {
            static AT: ::std::sync::atomic::AtomicPtr<::std::ffi::c_void> =
                ::std::sync::atomic::AtomicPtr::new(::std::ptr::null_mut());
            let name = concat!($name, "\0");
            // The name is a literal without another NUL.
            let Ok(name) = ::std::ffi::CStr::from_bytes_with_nul(name.as_bytes()) else { return $crate::missing() as $ret };
            let found = $crate::find_next(name, &AT);
            if found.is_null() {
                return $crate::missing() as $ret;
            }
            $crate::next_functions!(@call found ($($arg: $type),*) ($($rest: $rtype)?) $ret)
        }
    )*};
    (@call $found:ident ($($arg:ident: $type:ty),*) () $ret:ty) => {{
        // SAFETY: libc's function of this name has this type; the caller keeps its rules.
        unsafe {
            let f: unsafe extern "C-unwind" fn($($type),*) -> $ret = ::std::mem::transmute($found);
            f($($arg),*)
        }
    }};
    (@call $found:ident ($($arg:ident: $type:ty),*) ($rest:ident: $rtype:ty) $ret:ty) => {{
        // SAFETY: as above, for a function with optional arguments.
        unsafe {
            let f: unsafe extern "C-unwind" fn($($type,)* ...) -> $ret = ::std::mem::transmute($found);
            f($($arg,)* $rest)
        }
    }};
}
