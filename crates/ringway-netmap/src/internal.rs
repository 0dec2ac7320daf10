//! Numbers of descriptors that this library has for itself. A program that becomes a daemon closes every number: these stay open.
//!
//! What the library calls opens descriptors on its own. So [`track`] looks which numbers are new when a call has opened something, and keeps
//! such as this library has: objects of eBPF, memory, sockets of packets, event counters, namespaces, files of the run directory. Another
//! thread of the program that makes one of the same kind in that time would find that it can't close it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway_shim::FDS;

use crate::sys::kernel::{self, Kind};

/// What each number stood for when it was noted; 0: it is not the library's.
static NOTED: [AtomicU64; FDS] = [const { AtomicU64::new(0) }; FDS];

/// Held while a call is tracked: numbers that another call opened are not its own.
static TRACKING: Mutex<()> = Mutex::new(());

/// Keeps calls from being tracked.
pub(crate) type Held = MutexGuard<'static, ()>;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn slot(fd: RawFd) -> Option<&'static AtomicU64> {
    NOTED.get(usize::try_from(fd).ok()?)
}

pub(crate) fn hold() -> Held {
    TRACKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `open`, and notes the descriptors that it leaves open as the library's. The thread must be inside the library.
pub fn track<T>(open: impl FnOnce() -> T) -> T {
    if INSIDE.replace(true) {
        return open(); // the outer call tracks
    }
    let held = hold();
    let before = numbers();
    let done = open();
    for fd in numbers().difference(&before) {
        if is_kind_of_library(*fd) {
            note(*fd);
        }
    }
    drop(held);
    INSIDE.set(false);
    done
}

/// The numbers that are open.
fn numbers() -> BTreeSet<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Whether the library has descriptors of such a kind.
fn is_kind_of_library(fd: RawFd) -> bool {
    let Ok(target) = fs::read_link(format!("/proc/self/fd/{fd}")) else { return false };
    let name = target.to_string_lossy();
    if name.starts_with("socket:") {
        return kernel::socket_domain(fd)
            .is_some_and(|d| [libc::AF_XDP, libc::AF_PACKET, libc::AF_UNIX].contains(&d));
    }
    let kinds = ["anon_inode:bpf", "anon_inode:[eventfd]", "anon_inode:[eventpoll]", "/memfd:", "net:["];
    kinds.iter().any(|k| name.starts_with(k))
        || ringway::dirs::run_directory().is_some_and(|dir| target.starts_with(dir))
}

/// Notes a number as the library's.
pub fn note(fd: RawFd) {
    if let (Some(slot), Some(kind)) = (slot(fd), kernel::kind(fd)) {
        slot.store(mark(kind), Relaxed);
    }
}

/// Forgets a number: the library closed it, or gave it to the program.
pub fn forget(fd: RawFd) {
    if let Some(slot) = slot(fd) {
        slot.store(0, Relaxed);
    }
}

/// Whether a number was noted; it may have been closed since, by a way that nobody saw.
#[inline]
pub(crate) fn was_noted(fd: RawFd) -> bool {
    slot(fd).is_some_and(|s| s.load(Relaxed) != 0)
}

/// Whether a number is the library's; one that stands for something else now is forgotten.
pub(crate) fn is(fd: RawFd) -> bool {
    let Some(slot) = slot(fd) else { return false };
    let noted = slot.load(Relaxed);
    if noted == 0 {
        return false;
    }
    let same = kernel::kind(fd).is_some_and(|kind| mark(kind) == noted);
    if !same {
        slot.store(0, Relaxed);
    }
    same
}

fn mark(kind: Kind) -> u64 {
    kind.inode ^ kind.device.rotate_left(32) | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsRawFd, OwnedFd};

    #[test]
    fn what_a_call_opens_is_noted_by_its_kind() {
        let (mine, theirs) = track(|| {
            (std::os::unix::net::UnixStream::pair().unwrap().0, fs::File::open("/dev/null").unwrap())
        });
        assert!(is(mine.as_raw_fd()) && !is(theirs.as_raw_fd()));
        forget(mine.as_raw_fd());
        assert!(!was_noted(mine.as_raw_fd()));
    }

    #[test]
    fn a_number_that_stands_for_something_else_is_forgotten() {
        let mut number = OwnedFd::from(fs::File::open("/dev/null").unwrap());
        let fd = number.as_raw_fd();
        note(fd);
        assert!(is(fd));
        rustix::io::dup2(fs::File::open("/dev/zero").unwrap(), &mut number).unwrap();
        assert!(was_noted(fd) && !is(fd) && !was_noted(fd));
    }
}
