//! What the program's descriptors are: an array, read without a lock.
//!
//! Every read, write and poll of the program looks here, so the answer for any other descriptor is one load.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Descriptors from here on are left to the kernel.
pub const FDS: usize = 1 << 16;

/// A value for each descriptor that has one. Values are never freed: another thread may be at one that is being taken away.
#[derive(Debug)]
pub struct Table<T: Sync + 'static>([AtomicPtr<T>; FDS]);

impl<T: Sync + 'static> Table<T> {
    /// An empty one.
    #[allow(clippy::new_without_default, reason = "it is too large for a value on the stack")]
    #[must_use]
    pub const fn new() -> Self {
        Self([const { AtomicPtr::new(std::ptr::null_mut()) }; FDS])
    }

    #[inline]
    fn slot(&self, fd: c_int) -> Option<&AtomicPtr<T>> {
        self.0.get(usize::try_from(fd).ok()?)
    }

    /// The value of a descriptor.
    #[inline]
    pub fn get(&self, fd: c_int) -> Option<&'static T> {
        let at = self.slot(fd)?.load(Acquire);
        // SAFETY: `set` put it there, from a reference that lives for ever.
        unsafe { at.as_ref() }
    }

    /// Whether the table has room for descriptors of this number.
    pub fn has_room(&self, fd: c_int) -> bool {
        self.slot(fd).is_some()
    }

    /// Gives a descriptor a value.
    pub fn set(&self, fd: c_int, value: &'static T) {
        if let Some(slot) = self.slot(fd) {
            slot.store(std::ptr::from_ref(value).cast_mut(), Release);
        }
    }

    /// Takes the value of a descriptor away.
    pub fn take(&self, fd: c_int) -> Option<&'static T> {
        let at = self.slot(fd)?.swap(std::ptr::null_mut(), AcqRel);
        // SAFETY: as in `get`.
        unsafe { at.as_ref() }
    }
}
