//! Ctrl-C and SIGTERM end loops, not the process, so that ports are closed and averages are printed.

use std::time::{Duration, SystemTime};

use ringway_engine::Signals;

use crate::console::Console;
use crate::failure::Failure;
use crate::units::utc;

/// Signals that SIGINT and SIGTERM stop. A second one ends the process at once.
pub(crate) fn signals() -> Result<Signals, Failure> {
    Ok(Signals::on_ctrl_c()?)
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
        signals.rest(Duration::from_secs_f64(period));
    }
    Ok(())
}
