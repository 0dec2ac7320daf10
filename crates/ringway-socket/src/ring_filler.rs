//! The thread that fills mapped rings of programs which look at them without ever waiting.
//!
//! A mapped ring gets its frames when the program waits for them, so this thread does nothing where programs wait. Ten times a second it
//! sees that some call has looked, or that a thread sleeps. Where neither is so it looks itself, each millisecond while that lasts. It ends
//! when no socket of a port has such a ring.

use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;
use std::time::Duration;

use ringway_shim::ReentryGuard;
use ringway_shim::SignalsBlocked;

use crate::fork;

const CALM: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(1);

/// Looks of the program's own calls.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// The number of forks for which the thread runs, plus one; 0 when it does not.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// A call of the program has looked for frames.
#[inline]
pub(crate) fn looked() {
    if RUNS.load(Relaxed) != 0 {
        LOOKS.fetch_add(1, Relaxed);
    }
}

/// Fills the rings of all sockets; the argument says whether the program has looked for frames meanwhile. Returns whether any ring
/// was filled; `None` when there are none.
pub(crate) type FillAll = fn(bool) -> Option<bool>;

/// A socket of a port has a mapped ring from now on.
pub(crate) fn start(fill_all: FillAll) {
    let wanted = fork::count() + 1;
    if RUNS.swap(wanted, AcqRel) == wanted {
        return;
    }
    let _blocked = SignalsBlocked::new();
    let made = thread::Builder::new().name("ringway-fill".into()).spawn(move || run(fill_all));
    if made.is_err() {
        RUNS.store(0, Release);
    }
}

fn run(fill_all: FillAll) {
    let Some(_guard) = ReentryGuard::enter() else { return };
    let mut busy = false;
    loop {
        let looks = LOOKS.load(Relaxed);
        thread::sleep(if busy { BUSY } else { CALM });
        let looked = LOOKS.load(Relaxed) != looks;
        let runs = RUNS.load(Relaxed);
        let mut filled = fill_all(looked);
        if filled.is_none() {
            RUNS.store(0, Release);
            // A ring that came meanwhile found this thread running.
            filled = fill_all(true);
            if filled.is_none() || RUNS.swap(runs, AcqRel) != 0 {
                return;
            }
        }
        busy = filled == Some(true);
    }
}
