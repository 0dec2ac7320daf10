//! The thread that fills mapped rings of programs which look at them without ever waiting.
//!
//! A mapped ring gets its frames when the program waits for them, so this thread does nothing where programs do: ten times a
//! second it sees that some call has looked, or that a thread sleeps. Where neither is so it looks itself, each millisecond while
//! that lasts. It ends when no socket of a port has such a ring.

use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;
use std::time::Duration;

use ringway_shim::SignalsBlocked;

use crate::fork;
use crate::socket::{self, Socket};
use crate::sys::guard::ReentryGuard;

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

/// A socket of a port has a mapped ring from now on.
pub(crate) fn start() {
    let wanted = fork::count() + 1;
    if RUNS.swap(wanted, AcqRel) == wanted {
        return;
    }
    let _blocked = SignalsBlocked::new();
    let made = thread::Builder::new().name("ringway-fill".into()).spawn(run);
    if made.is_err() {
        RUNS.store(0, Release);
    }
}

fn run() {
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

/// Whether any ring was filled; `None` when there are none.
fn fill_all(looked: bool) -> Option<bool> {
    let nth = |i| socket::all().get(i).copied();
    (0..).map_while(nth).filter_map(|s| fill(s, looked)).reduce(|a, b| a | b)
}

/// Fills the ring of a socket unless its program sees to that; whether it did. `None` for a socket without such a ring.
fn fill(socket: &Socket, looked: bool) -> Option<bool> {
    let state = socket.state();
    let inlet = state.inlet.as_ref()?;
    let mut inner = inlet.link.lock();
    inner.receiver(inlet.id)?.map.as_ref()?;
    let spins = !looked && inner.asleep == 0 && inner.open.is_some();
    // What the port has to say when it fails, the program's next call is told.
    Some(spins && inner.has(inlet.id).is_ok())
}
