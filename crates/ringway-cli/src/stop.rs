//! Ctrl-C and SIGTERM end loops, not the process, so that ports are closed and averages are printed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ringway_engine::Signals;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::console::Console;
use crate::failure::Failure;
use crate::units::utc;

/// Exit code of a process that the second Ctrl-C ended, as a shell reports it.
const INTERRUPTED: i32 = 130;

/// Signals that SIGINT and SIGTERM stop. A second one ends the process at once.
pub(crate) fn signals() -> Result<Signals, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset, then sets it.
        flag::register_conditional_shutdown(signal, INTERRUPTED, stop.clone())
            .and_then(|_| flag::register(signal, stop.clone()))
            .map_err(|e| Failure::Other(format!("signal {signal} can't be handled: {e}")))?;
    }
    Ok(Signals::with_stop(stop))
}

/// Does something once, or every `period` seconds until told to stop, then with a line before it that has the time, for people.
pub(crate) fn repeat(
    period: Option<f64>,
    console: Console,
    mut turn: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(period) = period else { return turn() };
    let signals = signals()?;
    while !signals.stopped() {
        if !console.json {
            console.line(&utc(SystemTime::now()))?;
        }
        turn()?;
        rest(Duration::from_secs_f64(period), &signals);
    }
    Ok(())
}

/// Sleeps for `period`, or until told to stop.
pub(crate) fn rest(period: Duration, signals: &Signals) {
    let end = Instant::now() + period;
    while !signals.stopped() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}
