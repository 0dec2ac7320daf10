//! Locks in memory that several processes share. A word names its holder, so that the next one takes it from a thread that was
//! killed.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::forks::forks;

/// Looks at the word before a waiter yields its CPU, and yields before it asks whether the holder lives.
const SPINS: u32 = 200;
const YIELDS: u32 = 500;

/// A word that threads compare and exchange, generic so that loom checks the very code that runs.
pub(crate) trait LockWord {
    fn exchange(&self, from: u64, to: u64) -> Result<(), u64>;
    /// Gives the lock back that `me` has; one that was taken away stays with its new holder.
    fn release(&self, me: u64);
}

impl LockWord for AtomicU64 {
    #[inline]
    fn exchange(&self, from: u64, to: u64) -> Result<(), u64> {
        self.compare_exchange(from, to, Acquire, Relaxed).map(drop)
    }

    #[inline]
    fn release(&self, me: u64) {
        let _ = self.compare_exchange(me, 0, Release, Relaxed);
    }
}

/// How a thread got a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Got {
    /// It was free.
    Free,
    /// Its holder was killed, perhaps in the middle of a change.
    Stolen,
    /// The calling thread holds it: a signal handler interrupted it.
    Mine,
}

/// Takes the lock for `me`. `wait` is called before each further look, with the number of looks; it says whether the holder is dead.
#[inline]
pub(crate) fn acquire<W: LockWord>(word: &W, me: u64, mut wait: impl FnMut(u64, u32) -> bool) -> Got {
    let mut looks = 0;
    loop {
        match word.exchange(0, me) {
            Ok(()) => return Got::Free,
            Err(holder) if holder == me => return Got::Mine,
            Err(holder) => {
                looks += 1;
                if wait(holder, looks) && word.exchange(holder, me).is_ok() {
                    return Got::Stolen;
                }
            }
        }
    }
}

/// A lock that the calling thread holds until this is dropped.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    word: &'a AtomicU64,
    me: u64,
    /// Whether its last holder was killed.
    pub(crate) stolen: bool,
}

impl<'a> Held<'a> {
    /// Takes the lock; `None` when the calling thread has it, which a signal handler finds.
    #[inline]
    pub(crate) fn take(word: &'a AtomicU64) -> Option<Self> {
        let me = me();
        match acquire(word, me, wait) {
            Got::Mine => None,
            got => Some(Self { word, me, stolen: got == Got::Stolen }),
        }
    }

    /// Where the lock lies.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self.word).addr()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.word.release(self.me);
    }
}

/// Lets the holder run; from time to time asks whether there is one.
fn wait(holder: u64, looks: u32) -> bool {
    if !looks.is_multiple_of(SPINS) {
        std::hint::spin_loop();
        return false;
    }
    std::thread::yield_now();
    looks % (SPINS * YIELDS) == SPINS && is_dead(holder)
}

thread_local! {
    /// The calling thread's name, and the number of forks when it was read.
    static ME: Cell<(u32, u64)> = const { Cell::new((u32::MAX, 0)) };
}

/// The calling thread in one word: its number, and when it started, since the kernel gives numbers out again.
#[inline]
fn me() -> u64 {
    let forks = forks();
    ME.try_with(|me| {
        if me.get().0 != forks {
            me.set((forks, read_me()));
        }
        me.get().1
    })
    .unwrap_or_else(|_| read_me())
}

#[cold]
fn read_me() -> u64 {
    let tid = nix::unistd::gettid().as_raw() as u32;
    u64::from(tid) << 32 | u64::from(started(tid).ok().flatten().unwrap_or(UNKNOWN))
}

/// Stands for a start that could not be read.
const UNKNOWN: u32 = 0;

/// When a thread started, in ticks since boot (proc_pid_stat(5), field 22), as far as 32 bits go; `None` when there is no such thread.
///
/// # Errors
/// When the kernel does not say: descriptors ran out, or `/proc` is not there.
fn started(tid: u32) -> io::Result<Option<u32>> {
    let stat = match fs::read_to_string(format!("/proc/{tid}/stat")) {
        // Without `/proc` nobody is found.
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::exists("/proc/self/stat")? => return Ok(None),
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
        stat => stat?,
    };
    let odd = || io::Error::from(io::ErrorKind::InvalidData);
    let (_, rest) = stat.rsplit_once(") ").ok_or_else(odd)?;
    let mut fields = rest.split(' ');
    let runs = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
    let ticks: u64 = fields.nth(18).and_then(|ticks| ticks.parse().ok()).ok_or_else(odd)?;
    Ok(runs.then_some(ticks as u32))
}

/// Whether a holder is gone, for certain.
#[cold]
fn is_dead(holder: u64) -> bool {
    let (tid, start) = ((holder >> 32) as u32, holder as u32);
    started(tid).is_ok_and(|now| now.is_none_or(|now| start != UNKNOWN && now != start))
}

/// The namespace of thread numbers, 0 when the kernel does not say.
pub(super) fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_it_once_and_gives_it_back() {
        let word = AtomicU64::new(0);
        let held = Held::take(&word).unwrap();
        assert!(!held.stolen && Held::take(&word).is_none());
        drop(held);
        assert_eq!(word.load(Relaxed), 0);
    }

    #[test]
    fn it_is_taken_from_a_thread_that_is_gone() {
        let gone = std::thread::spawn(read_me).join().unwrap();
        let word = AtomicU64::new(gone);
        assert!(Held::take(&word).unwrap().stolen);
        let other = AtomicU64::new(read_me() ^ 1);
        assert!(Held::take(&other).unwrap().stolen, "the number went to another thread");
    }

    impl LockWord for loom::sync::atomic::AtomicU64 {
        fn exchange(&self, from: u64, to: u64) -> Result<(), u64> {
            self.compare_exchange(from, to, Acquire, Relaxed).map(drop)
        }

        fn release(&self, me: u64) {
            let _ = self.compare_exchange(me, 0, Release, Relaxed);
        }
    }

    /// Two threads that find a dead holder: one of them steals the lock, and both have it one after the other.
    #[test]
    #[allow(unsafe_code, reason = "loom's cells are reached by pointers")]
    fn one_thread_at_a_time_has_it() {
        loom::model(|| {
            let shared =
                loom::sync::Arc::new((loom::sync::atomic::AtomicU64::new(9), loom::cell::UnsafeCell::new(0)));
            let threads = [1, 2].map(|me| {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    let got = acquire(&shared.0, me, |holder, _| {
                        loom::thread::yield_now();
                        holder == 9
                    });
                    assert_ne!(got, Got::Mine);
                    // SAFETY: the lock is held.
                    shared.1.with_mut(|n| unsafe { *n += 1 });
                    shared.0.release(me);
                })
            });
            threads.into_iter().for_each(|t| t.join().unwrap());
            // SAFETY: the threads ended.
            assert_eq!(shared.1.with(|n| unsafe { *n }), 2);
        });
    }
}
