//! Waiting for links at the start.

use std::thread;
use std::time::{Duration, Instant};

use ringway::Port;
use ringway_engine::Signals;

use crate::console::note;
use crate::failure::Failure;

/// How long to wait for a link by default. Ports without a link do not wait.
pub(crate) const DEFAULT_SECONDS: f64 = 4.0;

const POLL: Duration = Duration::from_millis(20);

/// Waits until the port's link is up, `seconds` at most; says so when it is still down.
pub(crate) fn wait(port: &Port, seconds: f64, signals: &Signals) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while !port.link_up()? {
        if signals.stopped() {
            return Ok(());
        }
        if Instant::now() >= end {
            // A port whose peer comes and goes says why it is not there.
            let state = Some(port.status()).filter(|state| !port.info().backend.starts_with(state.as_str()));
            let why = state.map_or(String::new(), |state| format!(" ({state})"));
            let name = &port.info().name;
            note(&format!(
                "ringway: {name}: the link is down{why}; set it up or start its peer, or wait longer with -w"
            ));
            return Ok(());
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Parses the seconds from one time to the next: without any it would spin.
pub(crate) fn period(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.01..=86_400.0).contains(&s) => Ok(s),
        _ => Err("accepted: seconds from 0.01 to 86400, such as 2 or 0.5".into()),
    }
}

/// Parses a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("accepted: seconds from 0 to 86400, such as 2 or 0.5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_not_zero() {
        assert_eq!((period("0.5"), period("2"), seconds("0")), (Ok(0.5), Ok(2.0), Ok(0.0)));
        for wrong in ["0", "0.001", "-1", "NaN", "inf", "1s", ""] {
            assert!(period(wrong).is_err(), "{wrong}");
        }
    }
}
