//! Whether this is still the process that made a thing: the child of a fork has copies of all memory.
//!
//! A page that the kernel wipes in children (madvise(2), `MADV_WIPEONFORK`) tells, at the price of one load.

use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

const PAGE: usize = 4096;

/// Numbers given to processes of this family, one for each that made a mark.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The number of this process, in the page; 0 in a child that made no mark yet.
static NUMBER: OnceLock<Page> = OnceLock::new();

#[derive(Debug)]
struct Page(NonNull<AtomicU32>);

// SAFETY: the page is never unmapped, and is reached by its atomic alone.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    fn new() -> io::Result<Self> {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping at an address that the kernel chooses overlaps nothing.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, prot, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let Some(number) = NonNull::new(page.cast()) else { return Err(io::ErrorKind::OutOfMemory.into()) };
        // SAFETY: the page that was just mapped; only its children's copies change.
        match super::fd::check(unsafe { libc::madvise(page, PAGE, libc::MADV_WIPEONFORK) }) {
            Ok(_) => Ok(Self(number)),
            Err(e) => {
                // SAFETY: nobody else knows the page.
                unsafe { libc::munmap(page, PAGE) };
                Err(e)
            }
        }
    }

    #[inline]
    fn number(&self) -> &AtomicU32 {
        // SAFETY: mapped as long as the process lives, aligned to a page, valid for any bits.
        unsafe { self.0.as_ref() }
    }

    /// The number of this process, which it gets now if it has none.
    fn own(&self) -> u32 {
        let fresh = LAST.fetch_add(1, Relaxed).wrapping_add(1).max(1);
        match self.number().compare_exchange(0, fresh, Relaxed, Relaxed) {
            Ok(_) => fresh,
            Err(own) => own,
        }
    }
}

/// Says whether the present process is the one that made it.
#[derive(Debug)]
pub struct ProcessMark(u32);

impl ProcessMark {
    /// For the present process.
    pub fn here() -> io::Result<Self> {
        if let Some(page) = NUMBER.get() {
            return Ok(Self(page.own()));
        }
        let page = Page::new()?;
        // A thread that came first has its page kept; this one is a page lost, once.
        Ok(Self(NUMBER.get_or_init(|| page).own()))
    }

    /// Whether the present process made it.
    #[inline]
    pub fn is_here(&self) -> bool {
        NUMBER.get().is_some_and(|page| page.number().load(Relaxed) == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `check` in a child, which takes no lock of another thread.
    fn in_child(check: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child only compares numbers and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let held = check();
            // SAFETY: no memory is involved.
            unsafe { libc::_exit(i32::from(!held)) };
        }
        let mut status = 0;
        // SAFETY: `status` lives across the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status == 0
    }

    #[test]
    fn a_child_is_told_from_its_parent() {
        let mark = ProcessMark::here().unwrap();
        assert!(mark.is_here() && ProcessMark::here().unwrap().is_here());
        let held = in_child(|| {
            let own = ProcessMark::here();
            !mark.is_here() && own.is_ok_and(|own| own.is_here() && own.0 != mark.0)
        });
        assert!(held && mark.is_here());
    }
}
