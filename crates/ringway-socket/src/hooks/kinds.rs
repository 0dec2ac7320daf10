//! What descriptors were found to be, a bit for each. A bit holds until its descriptor is closed, or names something else.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway_shim::FDS;

use crate::sys::kernel;

/// Sockets that listen. A socket listens until it is closed. connect(2) to no family ends that for TCP, too: `accept` then gives `EAGAIN`
/// in place of `EINVAL`.
static LISTENING: Bits = Bits::new();

/// Descriptors whose events may wait.
static WAITING: Bits = Bits::new();

/// All others that were looked at.
static OTHER: Bits = Bits::new();

/// A bit for each descriptor.
struct Bits([AtomicU64; FDS / 64]);

impl Bits {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; FDS / 64])
    }

    fn find(&self, fd: c_int) -> Option<(&AtomicU64, u64)> {
        let fd = usize::try_from(fd).ok()?;
        self.0.get(fd / 64).map(|word| (word, 1 << (fd % 64)))
    }

    fn has(&self, fd: c_int) -> bool {
        self.find(fd).is_some_and(|(word, bit)| word.load(Relaxed) & bit != 0)
    }

    fn add(&self, fd: c_int) {
        if let Some((word, bit)) = self.find(fd) {
            word.fetch_or(bit, Relaxed);
        }
    }

    fn remove(&self, fd: c_int) {
        if let Some((word, bit)) = self.find(fd)
            && word.load(Relaxed) & bit != 0
        {
            word.fetch_and(!bit, Relaxed);
        }
    }
}

/// The descriptor is closed, or names something else now.
#[inline]
pub(super) fn forget(fd: c_int) {
    [&LISTENING, &WAITING, &OTHER].into_iter().for_each(|bits| bits.remove(fd));
}

/// Whether a descriptor names a socket that listens.
pub(super) fn listens(fd: c_int) -> bool {
    if LISTENING.has(fd) {
        return true;
    }
    let listens = kernel::listens(fd);
    if listens {
        LISTENING.add(fd);
    }
    listens
}

/// Whether events of a descriptor may wait: it is a pipe, a stream, a socket of netlink or a tap. Those have only what somebody wrote.
/// Timers, signals and epolls have events by other calls, and datagrams are in a hurry.
pub(super) fn may_wait(fd: c_int) -> bool {
    if WAITING.has(fd) || OTHER.has(fd) {
        return WAITING.has(fd);
    }
    let waits = kernel::may_wait(fd);
    let bits = if waits { &WAITING } else { &OTHER };
    bits.add(fd);
    waits
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_descriptor_is_looked_at_until_it_names_something_else() {
        let bits = Bits::new();
        let last = FDS as c_int - 1;
        for fd in [-1, 0, 64, last, last + 1] {
            bits.add(fd);
            assert_eq!(bits.has(fd), (0..=last).contains(&fd), "{fd}");
            bits.remove(fd);
            assert!(!bits.has(fd), "{fd}");
        }
    }

    #[test]
    fn events_of_pipes_streams_and_taps_may_wait() {
        let name = std::env::temp_dir().join(format!("ringway-kinds-{}", std::process::id()));
        let (listener, datagrams) = (UnixListener::bind(&name).unwrap(), UnixDatagram::unbound().unwrap());
        std::fs::remove_file(name).unwrap();
        let (pipe, _end) = std::io::pipe().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let all = [listener.as_raw_fd(), pipe.as_raw_fd(), datagrams.as_raw_fd(), file.as_raw_fd()];
        for _ in 0..2 {
            assert_eq!(all.map(may_wait), [true, true, false, false]);
            assert_eq!(all.map(listens), [true, false, false, false]);
        }
        if let Ok(tap) = std::fs::File::open("/dev/net/tun") {
            assert!(may_wait(tap.as_raw_fd()));
            forget(tap.as_raw_fd());
        }
        all.into_iter().for_each(forget);
    }
}
