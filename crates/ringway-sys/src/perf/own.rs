//! Samples of this process's own threads by timers and a signal, where the kernel lets it have no events.
//!
//! A timer of each thread counts the time that the thread runs, and sends it SIGPROF. The handler stores the address and the callers that
//! the frame pointers lead to. It allocates nothing, takes no lock, and reads memory by a system call, which fails where there is none.
//!
//! Slots belong to nobody, to a handler that fills one, or to the reader, in this order: `state` says which.

use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64};

use crate::fd::check;

/// Callers of a sample, at most, and samples that wait for their reader.
const DEPTH: usize = 48;
const SLOTS: usize = 2048;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const FULL: u32 = 2;

struct Slot {
    state: AtomicU32,
    tid: AtomicU32,
    len: AtomicU32,
    chain: [AtomicU64; DEPTH],
}

static RING: [Slot; SLOTS] = [const {
    Slot {
        state: AtomicU32::new(FREE),
        tid: AtomicU32::new(0),
        len: AtomicU32::new(0),
        chain: [const { AtomicU64::new(0) }; DEPTH],
    }
}; SLOTS];
static NEXT: AtomicU32 = AtomicU32::new(0);
static LOST: AtomicU64 = AtomicU64::new(0);
/// Whether somebody samples: one at a time.
static BUSY: AtomicBool = AtomicBool::new(false);
/// The process, for the handler.
static PID: AtomicI32 = AtomicI32::new(0);

/// A sample of an own thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSample {
    /// The thread.
    pub tid: u32,
    /// The address, and the addresses of return above it.
    pub chain: Vec<u64>,
}

/// Timers of own threads, which stop when this is dropped.
#[derive(Debug)]
pub struct Timers(Vec<Timer>);

#[derive(Debug)]
struct Timer(libc::timer_t);

// SAFETY: the kernel's number of a timer, which any thread may use.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Timers {
    /// Samples threads of this process. The kernel's timers fire at its ticks at most, some 250 times a second.
    ///
    /// # Errors
    /// `EBUSY` when another one samples, or the program has a use of its own for SIGPROF; what the kernel says.
    pub fn start(threads: &[i32], frequency: u32) -> io::Result<Self> {
        if BUSY.swap(true, Acquire) {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        let mut timers = Self(Vec::new());
        PID.store(std::process::id() as i32, Relaxed);
        handle()?;
        for &thread in threads {
            timers.0.push(Timer::start(thread, 1_000_000_000 / i64::from(frequency.max(1)))?);
        }
        Ok(timers)
    }

    /// The samples since the last call.
    pub fn take(&self) -> Vec<OwnSample> {
        let sample = |slot: &Slot| {
            // Acquire: what the handler wrote before it gave the slot away.
            if slot.state.load(Acquire) != FULL {
                return None;
            }
            let len = (slot.len.load(Relaxed) as usize).min(DEPTH);
            let chain = slot.chain[..len].iter().map(|word| word.load(Relaxed)).collect();
            let tid = slot.tid.load(Relaxed);
            // Release: the slot is read before a handler writes it again.
            slot.state.store(FREE, Release);
            Some(OwnSample { tid, chain })
        };
        RING.iter().filter_map(sample).collect()
    }

    /// Samples that found no slot, since the last call.
    pub fn lost(&self) -> u64 {
        LOST.swap(0, Relaxed)
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.0.clear();
        self.take();
        BUSY.store(false, Release);
    }
}

impl Timer {
    fn start(thread: i32, period_ns: i64) -> io::Result<Self> {
        // CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED of the kernel: the time that the thread runs.
        let clock = (!thread) << 3 | 6;
        // SAFETY: all zeros are a sigevent.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        (event.sigev_notify, event.sigev_signo, event.sigev_notify_thread_id) =
            (libc::SIGEV_THREAD_ID, libc::SIGPROF, thread);
        let mut timer = std::ptr::null_mut();
        // SAFETY: both live across the call.
        check(unsafe { libc::timer_create(clock, &mut event, &mut timer) })?;
        let timer = Self(timer);
        let period = libc::timespec { tv_sec: period_ns / 1_000_000_000, tv_nsec: period_ns % 1_000_000_000 };
        let spec = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer was just made; `spec` lives across the call, and the old value is not asked for.
        check(unsafe { libc::timer_settime(timer.0, 0, &spec, std::ptr::null_mut()) })?;
        Ok(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made by `start`, deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Installs the handler, for good: a signal that is under way when the timers stop must not end the process.
fn handle() -> io::Result<()> {
    // SAFETY: all zeros are a sigaction, which the call fills.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null action only asks; `old` lives across the call.
    check(unsafe { libc::sigaction(libc::SIGPROF, std::ptr::null(), &mut old) })?;
    let own = on_signal as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
    if old.sa_sigaction == own {
        return Ok(());
    }
    if old.sa_sigaction != libc::SIG_DFL {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (own, libc::SA_SIGINFO | libc::SA_RESTART);
    // SAFETY: the handler is async-signal-safe: it uses atomics and system calls, and keeps errno.
    check(unsafe { libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut()) }).map(drop)
}

extern "C" fn on_signal(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of this thread's errno, always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let slot = &RING[NEXT.fetch_add(1, Relaxed) as usize % SLOTS];
    if slot.state.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok() {
        fill(slot, context.cast());
        slot.state.store(FULL, Release);
    } else {
        LOST.fetch_add(1, Relaxed);
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Stores where the thread was, and the callers that its frame pointers lead to: each frame lies above the one that it called.
fn fill(slot: &Slot, context: *const libc::ucontext_t) {
    // SAFETY: the kernel passes the context of the interrupted thread to a handler with SA_SIGINFO.
    let (address, mut frame) = registers(unsafe { &*context });
    // SAFETY: no memory is involved.
    slot.tid.store(unsafe { libc::syscall(libc::SYS_gettid) } as u32, Relaxed);
    slot.chain[0].store(address, Relaxed);
    let mut len = 1;
    while len < DEPTH
        && let Some([above, caller]) = pair(frame)
        && caller != 0
    {
        slot.chain[len].store(caller, Relaxed);
        len += 1;
        if above <= frame {
            break;
        }
        frame = above;
    }
    slot.len.store(len as u32, Relaxed);
}

/// Two words of memory; `None` where there is none.
fn pair(address: u64) -> Option<[u64; 2]> {
    if address == 0 || !address.is_multiple_of(8) {
        return None;
    }
    let mut words = [0u64; 2];
    let to = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: 16 };
    let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: 16 };
    // SAFETY: the kernel writes at most 16 bytes to `words`, and looks itself whether `from` is there.
    let read = unsafe { libc::process_vm_readv(PID.load(Relaxed), &to, 1, &from, 1, 0) };
    (read == 16).then_some(words)
}

/// The address and the frame pointer.
#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    let of = |register: i32| context.uc_mcontext.gregs[register as usize] as u64;
    (of(libc::REG_RIP), of(libc::REG_RBP))
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> (u64, u64) {
    (context.uc_mcontext.pc, context.uc_mcontext.regs[29])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_samples_itself() {
        // SAFETY: no memory is involved.
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
        let timers = Timers::start(&[own], 1000).unwrap();
        assert_eq!(Timers::start(&[own], 1).unwrap_err().raw_os_error(), Some(libc::EBUSY));
        let (mut samples, mut spun) = (Vec::new(), 0u64);
        while samples.len() < 10 {
            (0..100_000).for_each(|n| spun = std::hint::black_box(spun ^ n));
            samples.extend(timers.take());
        }
        drop(timers);
        assert!(samples.iter().all(|s| s.tid == own as u32 && s.chain[0] != 0), "{samples:?}");
        assert!(samples.iter().any(|s| s.chain.len() > 2), "no callers: {samples:?}");
        assert!(pair(8).is_none() && pair(1).is_none());
    }
}
