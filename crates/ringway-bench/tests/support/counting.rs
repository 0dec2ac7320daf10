//! An allocator that counts, for the whole test binary that includes this file.
#![allow(unsafe_code, reason = "a global allocator is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

/// Allocations so far, of all threads.
pub(crate) static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! { static OWN: Cell<u64> = const { Cell::new(0) } }

/// Allocations so far of the calling thread.
#[allow(dead_code, reason = "one of two files uses it")]
pub(crate) fn own() -> u64 {
    OWN.get()
}

fn count() {
    COUNT.fetch_add(1, Relaxed);
    let _ = OWN.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
