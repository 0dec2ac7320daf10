//! Numbers of descriptors that this library has for itself. A program that becomes a daemon closes every number: these stay open.
//!
//! What the library calls opens descriptors on its own. So [`track`] looks which numbers are new when a call has opened something. It keeps
//! the kinds that this library has: objects of eBPF, memory, sockets of packets, event counters, namespaces, files of the run directory.
//!
//! What another thread of the program opens in that time is the program's: hooks say so. One of the same kinds that it opens by a system
//! call, past libc, it could not close.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway_shim::FDS;
use rustix::fs::{Dir, Mode, OFlags};

use crate::sys::kernel::{self, Kind};

/// What each number stood for when it was noted; 0: it is not the library's.
static NOTED: [AtomicU64; FDS] = [const { AtomicU64::new(0) }; FDS];

/// A bit for each number that the program got since a call is tracked.
static GIVEN: [AtomicU64; FDS / 64] = [const { AtomicU64::new(0) }; FDS / 64];

/// The library knows nothing about numbers above it.
static HIGHEST: AtomicI32 = AtomicI32::new(-1);

/// Whether a call is tracked.
static TRACKING: AtomicBool = AtomicBool::new(false);

/// Held while a call is tracked: numbers that another call opened are not its own.
static TRACKED: Mutex<()> = Mutex::new(());

/// Keeps calls from being tracked.
pub(crate) type Held = MutexGuard<'static, ()>;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn slot(fd: RawFd) -> Option<&'static AtomicU64> {
    NOTED.get(usize::try_from(fd).ok()?)
}

pub(crate) fn hold() -> Held {
    TRACKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `open`, and notes the descriptors that it leaves open as the library's. The thread must be inside the library.
pub fn track<T>(open: impl FnOnce() -> T) -> T {
    if INSIDE.replace(true) {
        return open(); // the outer call tracks
    }
    let held = hold();
    GIVEN.iter().for_each(|word| word.store(0, Relaxed));
    TRACKING.store(true, SeqCst);
    let before = numbers();
    let done = open();
    // Without a list from before, new numbers look like the program's.
    let new = before.zip(numbers()).map(|(before, now)| &now - &before).unwrap_or_default();
    for fd in new.into_iter().filter(|fd| is_kind_of_library(*fd)) {
        note(fd);
        // In this order: the program's thread sets the bit, then takes the note away.
        if was_given(fd) && !is_of_library_alone(fd) {
            forget(fd);
        }
    }
    TRACKING.store(false, SeqCst);
    drop(held);
    INSIDE.set(false);
    done
}

/// The numbers that are open, but for the one that lists them; `None` when they can't be listed.
fn numbers() -> Option<BTreeSet<RawFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open("/proc/self/fd", flags, Mode::empty()).ok()?;
    let own = folder.as_raw_fd();
    let entries = Dir::new(folder).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|e| e.file_name().to_str().ok()?.parse().ok());
    Some(numbers.filter(|fd| *fd != own).collect())
}

/// Whether the library has descriptors of such a kind.
fn is_kind_of_library(fd: RawFd) -> bool {
    let domains = [libc::AF_XDP, libc::AF_PACKET, libc::AF_UNIX, libc::AF_INET, libc::AF_NETLINK];
    let kinds = ["anon_inode:[eventfd]", "anon_inode:[eventpoll]", "/memfd:"];
    is_of_library_alone(fd)
        || kernel::socket_domain(fd).is_some_and(|d| domains.contains(&d))
        || target(fd).is_some_and(|name| kinds.iter().any(|k| name.to_string_lossy().starts_with(k)))
}

/// Whether programs have none of its kind: threads that the library starts for a moment open it, and look like threads of the program.
fn is_of_library_alone(fd: RawFd) -> bool {
    let Some(target) = target(fd) else { return false };
    let name = target.to_string_lossy();
    let folders = [ringway::dirs::run_directory(), Some(ringway::pinned::root())];
    ["anon_inode:bpf", "anon_inode:btf", "net:["].iter().any(|k| name.starts_with(k))
        || folders.iter().flatten().any(|dir| target.starts_with(dir))
}

fn target(fd: RawFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{fd}")).ok()
}

/// Notes a number as the library's.
pub fn note(fd: RawFd) {
    if let (Some(slot), Some(kind)) = (slot(fd), kernel::kind(fd)) {
        reached(fd);
        slot.store(mark(kind), SeqCst);
    }
}

/// Forgets a number: the library closed it.
pub fn forget(fd: RawFd) {
    if let Some(slot) = slot(fd) {
        slot.store(0, SeqCst);
    }
}

/// The library knows something about a number.
pub(crate) fn reached(fd: RawFd) {
    HIGHEST.fetch_max(fd, Relaxed);
}

/// The highest number that the library ever knew something about.
pub(crate) fn highest() -> RawFd {
    HIGHEST.load(Relaxed)
}

fn bit(fd: RawFd) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(fd).ok()?;
    Some((GIVEN.get(number / 64)?, 1 << (number % 64)))
}

fn was_given(fd: RawFd) -> bool {
    bit(fd).is_some_and(|(word, bit)| word.load(SeqCst) & bit != 0)
}

/// Whether a call is tracked just now.
#[inline]
pub(crate) fn is_tracking() -> bool {
    TRACKING.load(SeqCst)
}

/// The program got new numbers.
pub(crate) fn given(fds: &[RawFd]) {
    for fd in fds {
        if let Some((word, bit)) = bit(*fd) {
            word.fetch_or(bit, SeqCst);
        }
        forget(*fd);
    }
}

/// The program closes a number: it may be the library's next.
pub(crate) fn returned(fd: RawFd) {
    if let Some((word, bit)) = bit(fd) {
        word.fetch_and(!bit, SeqCst);
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
    use std::os::fd::OwnedFd;

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
    fn what_the_program_got_meanwhile_is_its_own() {
        let pair = std::os::unix::net::UnixStream::pair;
        let (own, theirs) = track(|| {
            let (own, theirs) = pair().unwrap();
            given(&[theirs.as_raw_fd()]);
            (own, theirs)
        });
        assert!(is(own.as_raw_fd()) && !is(theirs.as_raw_fd()));
        let late = track(|| pair().unwrap().0);
        given(&[late.as_raw_fd()]);
        assert!(!is(late.as_raw_fd()), "a thread that was late to say so");
        forget(own.as_raw_fd());
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
