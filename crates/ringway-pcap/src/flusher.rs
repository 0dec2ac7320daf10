//! Senders whose packets wait for others, and the thread that sends them in time.
//!
//! While packets wait the thread sleeps until the oldest has waited for the bound, sends what has waited so long, and sleeps again. So
//! a packet waits for the bound at most, plus what the scheduler takes to run the thread. When no packet has waited in a whole turn
//! the thread sleeps until the next one does.
//!
//! A [brisk](Backlog::is_brisk) sender fills its bursts within a few bounds. The thread would wake for nothing, and on a virtual
//! machine it would cost a tenth of the rate. So packets of the process wait longer while it has one, [`BRISK_BOUNDS`] at most.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, TryLockError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use ringway_shim::SignalsBlocked;

use crate::backlog::Backlog;
use crate::sys;

/// Times the bound that packets wait at most while a sender is brisk.
const BRISK_BOUNDS: u32 = 4;

/// A sender whose packets may wait.
pub(crate) trait Flush: Send + Sync {
    /// What waits.
    fn backlog(&self) -> &Backlog;

    /// Sends what waits. A failure shows in the next call that sends, as the packets stay in the ring.
    fn flush(&self);

    /// The same, unless a thread uses the sender just now.
    fn flush_unless_busy(&self);
}

/// All senders that may have packets wait.
static SENDERS: Mutex<Vec<Weak<dyn Flush>>> = Mutex::new(Vec::new());

/// Whether any of them has.
static WAITING: AtomicBool = AtomicBool::new(false);

static IDLE: AtomicBool = AtomicBool::new(true);
static THREAD: Mutex<Option<Thread>> = Mutex::new(None);

/// Held by the thread while it is at senders, and across forks.
static TURN: Mutex<()> = Mutex::new(());

/// Remembers a sender. What it has waiting is sent at the end of the program too, and before a fork.
pub(crate) fn add(sender: &Arc<impl Flush + 'static>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        ringway_shim::prepare_for_forks();
        sys::at_exit(at_exit);
        sys::at_fork(before_fork, after_fork, in_child);
    });
    let mut senders = lock(&SENDERS);
    senders.retain(|s| s.strong_count() > 0);
    let sender: Arc<dyn Flush> = sender.clone();
    senders.push(Arc::downgrade(&sender));
}

/// Packets wait from now on, for `bound` at most. False when nobody would send them then.
pub(crate) fn wake(bound: Duration) -> bool {
    WAITING.store(true, SeqCst);
    // Either this sees the thread idle, or the thread sees that packets wait before it sleeps.
    if !IDLE.swap(false, SeqCst) {
        return true;
    }
    let mut thread = lock(&THREAD);
    if thread.is_none() {
        let run = move || run(bound);
        let _blocked = SignalsBlocked::new();
        let made = thread::Builder::new().name("ringway-flush".into()).spawn(run);
        *thread = made.ok().map(|t| t.thread().clone());
    }
    match &*thread {
        Some(t) => t.unpark(),
        None => IDLE.store(true, SeqCst),
    }
    thread.is_some()
}

/// Sends all that waits: before the program sleeps, or has read all that there is to read.
#[inline]
pub(crate) fn flush_all() {
    if WAITING.load(SeqCst) {
        flush_waiting();
    }
}

#[cold]
fn flush_waiting() {
    WAITING.store(false, SeqCst);
    senders().filter(|s| s.backlog().since().is_some()).for_each(|s| s.flush());
}

/// The senders that there are. None is locked, so a sender may be made meanwhile.
fn senders() -> impl Iterator<Item = Arc<dyn Flush>> {
    let nth = |i| lock(&SENDERS).get(i).cloned();
    (0..).map_while(nth).filter_map(|s| s.upgrade())
}

/// Sends what has waited for its bound. Returns how long the oldest of the rest may wait still, `None` when none waits.
///
/// The last turn ended `turn` before `now`.
fn flush_due(
    senders: impl Iterator<Item = Arc<dyn Flush>>,
    bound: Duration,
    (turn, now): (Duration, Instant),
) -> Option<Duration> {
    let mut rest: Option<Duration> = None;
    for sender in senders {
        let brisk = sender.backlog().is_brisk(turn, bound);
        let Some(since) = sender.backlog().since() else { continue };
        let waited = now.saturating_duration_since(since);
        let own = if brisk { bound * BRISK_BOUNDS } else { bound }.saturating_sub(waited);
        if own.is_zero() {
            sender.flush();
        } else {
            rest = Some(rest.map_or(own, |r| r.min(own)));
        }
    }
    rest
}

/// No packet waits, as far as this thread saw.
fn forget_waiting() {
    WAITING.store(false, SeqCst);
    // A sender notes that a packet waits before it says so here: if this overwrote that, the note is there.
    if senders().any(|s| s.backlog().since().is_some()) {
        WAITING.store(true, SeqCst);
    }
}

/// Waits until the thread has let go of the senders that it was at. A handle that is closed may be one of them: a program that ended
/// now would leave its port behind. It waits a second at most, as the caller may have interrupted a call that has a sender locked.
pub(crate) fn end_turn() {
    const STEP: Duration = Duration::from_millis(1);
    for _ in 0..1000 {
        match TURN.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(STEP),
            _ => return,
        }
    }
}

fn run(bound: Duration) {
    sys::exact_timers();
    let (mut rest, mut last) = (bound, Instant::now());
    loop {
        thread::sleep(rest);
        let now = Instant::now();
        let turn = now.saturating_duration_since(std::mem::replace(&mut last, now));
        rest = bound;
        if WAITING.load(SeqCst) {
            let _turn = lock(&TURN);
            match flush_due(senders(), bound, (turn, now)) {
                Some(left) => rest = left,
                None => forget_waiting(),
            }
            continue;
        }
        IDLE.store(true, SeqCst);
        if WAITING.load(SeqCst) {
            IDLE.store(false, SeqCst);
            continue;
        }
        while IDLE.load(SeqCst) {
            thread::park();
        }
    }
}

/// Programs end without closing their handles.
extern "C" fn at_exit() {
    let senders = SENDERS.try_lock();
    let waiting = senders.iter().flat_map(|s| s.iter()).filter_map(Weak::upgrade);
    waiting.for_each(|s| s.flush_unless_busy());
}

/// What a fork finds locked, so that the child can unlock it.
type Held =
    (MutexGuard<'static, ()>, MutexGuard<'static, Vec<Weak<dyn Flush>>>, MutexGuard<'static, Option<Thread>>);

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// What waits leaves before a fork, or both processes would send it.
extern "C" fn before_fork() {
    flush_all();
    let held = (lock(&TURN), lock(&SENDERS), lock(&THREAD));
    let _ = HELD.try_with(|h| *h.borrow_mut() = Some(held));
}

extern "C" fn after_fork() {
    let _ = HELD.try_with(|h| h.borrow_mut().take());
}

/// In the child of a fork there is no such thread.
extern "C" fn in_child() {
    IDLE.store(true, SeqCst);
    let _ = HELD.try_with(|h| {
        if let Some((.., thread)) = &mut *h.borrow_mut() {
            **thread = None;
        }
    });
    after_fork();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Counted {
        backlog: Backlog,
        flushes: AtomicU32,
    }

    impl Flush for Counted {
        fn backlog(&self) -> &Backlog {
            &self.backlog
        }

        fn flush(&self) {
            self.flushes.fetch_add(1, SeqCst);
        }

        fn flush_unless_busy(&self) {}
    }

    /// What a turn at `now` says of two senders, and how often it flushed the first.
    fn turn(first: &Arc<Counted>, second: &Arc<Counted>, now: Instant) -> (Option<Duration>, u32) {
        let both = [first, second].map(|s| -> Arc<dyn Flush> { s.clone() });
        let bound = Duration::from_millis(10);
        let rest = flush_due(both.into_iter(), bound, (bound, now));
        (rest, first.flushes.load(SeqCst))
    }

    #[test]
    fn packets_wait_for_their_bound() {
        let (first, second) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
        let start = Instant::now() + Duration::from_secs(60);
        let at = |ms| start + Duration::from_millis(ms);
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(turn(&first, &second, start), (None, 0), "none waits");
        first.backlog.begin(start);
        second.backlog.begin(at(3));
        assert_eq!(turn(&first, &second, at(4)), (ms(6), 0), "the oldest has the say");
        assert_eq!(turn(&first, &second, at(10)), (ms(3), 1));
        second.backlog.end();
        (0..9).for_each(|_| first.backlog.fill());
        assert_eq!(turn(&first, &second, at(10)), (ms(30), 1), "a brisk sender");
        assert_eq!(turn(&first, &second, at(11)), (None, 2), "no longer brisk");
    }

    /// A closed handle is let go of before the call that closes it returns.
    #[test]
    fn the_end_of_a_turn_is_waited_for() {
        let over = AtomicBool::new(false);
        let turn = lock(&TURN);
        thread::scope(|scope| {
            let closing = scope.spawn(|| {
                end_turn();
                over.load(SeqCst)
            });
            thread::sleep(Duration::from_millis(20));
            over.store(true, SeqCst);
            drop(turn);
            assert!(closing.join().unwrap_or(false), "it returned in the middle of a turn");
        });
    }
}
