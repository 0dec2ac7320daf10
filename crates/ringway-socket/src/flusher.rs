//! The thread that sends frames of dense streams which have waited long enough (`RINGWAY_BATCH_US`).
//!
//! While frames come it sleeps for that time, sends, and sleeps again; so a frame waits so long at most, plus what the
//! scheduler takes to run the thread. When none has come in a whole turn it sleeps until the next one does.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};

use ringway_shim::ReentryGuard;
use ringway_shim::SignalsBlocked;

use crate::config::Config;
use crate::fork;
use crate::sys::kernel;

static IDLE: AtomicBool = AtomicBool::new(true);
/// The number of forks for which the thread was made, plus one.
static MADE: AtomicU32 = AtomicU32::new(0);
static THREAD: Mutex<Option<Thread>> = Mutex::new(None);

/// Frames that wait.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Whether there are any.
    pub(crate) any: fn() -> bool,
    /// Sends them.
    pub(crate) flush: fn(),
}

/// Frames wait from now on. False when nobody would send them.
pub(crate) fn wake(waiting: &'static Waiting) -> bool {
    // Either this sees the thread idle, or the thread sees the link dirty before it sleeps.
    if !IDLE.swap(false, SeqCst) {
        return true;
    }
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = fork::count() + 1;
    if MADE.swap(wanted, AcqRel) != wanted {
        let _blocked = SignalsBlocked::new();
        let made = thread::Builder::new().name("ringway-flush".into()).spawn(|| run(waiting));
        *thread = made.ok().map(|t| t.thread().clone());
    }
    match &*thread {
        Some(t) => t.unpark(),
        None => IDLE.store(true, SeqCst),
    }
    thread.is_some()
}

/// In the child of a fork there is no such thread.
pub(crate) fn forget() {
    IDLE.store(true, SeqCst);
}

fn run(waiting: &Waiting) {
    let Some(_guard) = ReentryGuard::enter() else { return };
    let Some(bound) = Config::get().bound else { return };
    kernel::exact_timers();
    loop {
        thread::sleep(bound);
        if (waiting.any)() {
            (waiting.flush)();
            continue;
        }
        IDLE.store(true, SeqCst);
        if (waiting.any)() {
            IDLE.store(false, SeqCst);
            continue;
        }
        while IDLE.load(SeqCst) {
            thread::park();
        }
    }
}
