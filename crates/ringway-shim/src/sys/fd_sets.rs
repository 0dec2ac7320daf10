//! The sets of descriptors that programs give to select(2).

use std::ffi::{c_int, c_short};

use libc::{fd_set, pollfd};

use super::errno::fail;

/// The sets of a select, as far as `n`.
#[derive(Debug)]
pub struct FdSets {
    sets: [*mut fd_set; 3],
    n: usize,
}

/// Words of an `fd_set`.
const WORDS: usize = libc::FD_SETSIZE / 64;

/// What sets were before a call changed them.
#[derive(Debug, Clone)]
pub struct SavedSets([[u64; WORDS]; 3]);

const EVENTS: [c_short; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
/// What each set shows: as in fs/select.c.
const SHOWN: [c_short; 3] = [
    libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLHUP | libc::POLLERR,
    libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND | libc::POLLERR,
    libc::POLLPRI,
];

impl FdSets {
    /// The sets of reading, writing and exceptions, each null or with a bit for each descriptor below `n`.
    ///
    /// # Safety
    /// As select(2), for as long as this lives.
    #[must_use]
    pub unsafe fn new(sets: [*mut fd_set; 3], n: c_int) -> Self {
        Self { sets, n: n.max(0) as usize }
    }

    /// The bits of the sets, for [`restore`](Self::restore); `None` for more descriptors than an `fd_set` has.
    #[must_use]
    pub fn save(&self) -> Option<SavedSets> {
        let words = self.n.div_ceil(64);
        let mut saved = SavedSets([[0; WORDS]; 3]);
        if words > WORDS {
            return None;
        }
        for (set, to) in self.sets.iter().zip(&mut saved.0).filter(|(set, _)| !set.is_null()) {
            // SAFETY: the program's set has a bit for each descriptor below `n`, in whole words.
            unsafe { std::ptr::copy_nonoverlapping(set.cast::<u64>(), to.as_mut_ptr(), words) };
        }
        Some(saved)
    }

    /// Gives the sets the bits that they had.
    pub fn restore(&self, saved: &SavedSets) {
        let words = self.n.div_ceil(64).min(WORDS);
        for (set, from) in self.sets.iter().zip(&saved.0).filter(|(set, _)| !set.is_null()) {
            // SAFETY: as in `save`.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), set.cast::<u64>(), words) };
        }
    }

    /// Whether a set has such a descriptor.
    #[must_use]
    pub fn any(&self, set: usize, such: impl Fn(c_int) -> bool) -> bool {
        (0..self.n).any(|fd| self.has(set, fd) && such(fd as c_int))
    }

    /// The word and bit of a descriptor; sets may be longer than `fd_set`, if the program made them so.
    fn word(&self, set: usize, fd: usize) -> Option<(*mut u64, u64)> {
        let at = self.sets[set];
        // SAFETY: the program's set has a bit for each descriptor below `n`.
        (!at.is_null() && fd < self.n).then(|| (unsafe { at.cast::<u64>().add(fd / 64) }, 1 << (fd % 64)))
    }

    fn has(&self, set: usize, fd: usize) -> bool {
        // SAFETY: a word of the program's set.
        self.word(set, fd).is_some_and(|(at, bit)| unsafe { *at } & bit != 0)
    }

    fn clear(&self) {
        for set in 0..3 {
            for fd in 0..self.n {
                if let Some((at, bit)) = self.word(set, fd) {
                    // SAFETY: a word of the program's set.
                    unsafe { *at &= !bit };
                }
            }
        }
    }

    /// The same as descriptors of a poll.
    #[must_use]
    pub fn polled(&self) -> Vec<pollfd> {
        let events = |fd| (0..3).filter(|s| self.has(*s, fd)).fold(0, |e, s| e | EVENTS[s]);
        let all = (0..self.n).map(|fd| pollfd { fd: fd as c_int, events: events(fd), revents: 0 });
        all.filter(|p| p.events != 0).collect()
    }

    /// Writes the answer of a poll of [`polled`](Self::polled); returns how many bits are set, or fails as select does.
    #[must_use]
    pub fn answer(&self, fds: &[pollfd]) -> c_int {
        if fds.iter().any(|p| p.revents & libc::POLLNVAL != 0) {
            return fail(libc::EBADF);
        }
        self.clear();
        let mut bits = 0;
        for p in fds {
            for set in 0..3 {
                if p.events & EVENTS[set] != 0
                    && p.revents & SHOWN[set] != 0
                    && let Some((at, bit)) = self.word(set, p.fd as usize)
                {
                    // SAFETY: a word of the program's set.
                    unsafe { *at |= bit };
                    bits += 1;
                }
            }
        }
        bits
    }
}
