//! An allocator that counts.
#![allow(unsafe_code, reason = "a global allocator is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The system's allocator, which counts allocations where a program makes it its global one.
///
/// ```
/// use ringway_lab::counting::{CountingAllocator, of_this_thread};
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator;
///
/// let before = of_this_thread();
/// let text = String::from("one allocation");
/// assert_eq!(of_this_thread(), before + 1);
/// # drop(text);
/// ```
#[derive(Debug)]
pub struct CountingAllocator;

static ALL: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);

thread_local! { static OWN: Cell<u64> = const { Cell::new(0) } }

/// Allocations so far of all threads.
pub fn of_all_threads() -> u64 {
    ALL.load(Relaxed)
}

/// Allocations so far of the calling thread.
pub fn of_this_thread() -> u64 {
    OWN.get()
}

/// Bytes that all threads have allocated and not given back.
pub fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

fn count() {
    ALL.fetch_add(1, Relaxed);
    let _ = OWN.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        LIVE.fetch_add(size, Relaxed);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }
}
