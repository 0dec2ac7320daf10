//! Ending loops from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::sleep::NAP;

/// Exit code of a process that the second Ctrl-C ended, as a shell reports it.
const INTERRUPTED: i32 = 130;

/// Signals to loops from outside. Clones are the same signals.
///
/// Ctrl-C stops the loops that have [`Signals::on_ctrl_c`], a failure stops the other workers of its
/// [`crew`](super::crew()), and a limit of time is a [`rest`](Self::rest) before [`stop`](Self::stop).
///
/// ```
/// use std::time::Duration;
/// use ringway::Port;
/// use ringway_engine::{Progress, Receiver, Signals, beside};
/// let mut port = Port::open("loop:")?;
/// let (signals, progress) = (Signals::new(), Progress::new());
/// let mut receiver = Receiver::new(u64::MAX);
/// // Receives for 10 ms.
/// let receive = || receiver.run(&mut port.rx, &progress, &signals);
/// let (received, ()) = beside(&signals, "receiver", None, receive, || signals.rest(Duration::from_millis(10)));
/// assert!(received.is_ok() && signals.stopped());
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Signals {
    /// Nothing said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signals that SIGINT and SIGTERM stop from now on. A second one ends the process at once.
    ///
    /// It is for programs: the handlers belong to the whole process, and a library must leave them alone.
    ///
    /// ```
    /// use ringway::Port;
    /// use ringway_engine::{Bridge, Signals};
    /// # let folder = std::env::temp_dir().join(format!("doc-ctrl-c-{}.pcap", std::process::id()));
    /// # ringway_wire::pcapfile::Writer::new("doc", std::fs::File::create(&folder)?, 65535)?.finish()?;
    /// # let name = format!("pcap:{}", folder.display());
    /// let mut bridge = Bridge::new(Port::open(&name)?, Port::open("null:")?);
    /// bridge.run(&Signals::on_ctrl_c()?)?; // until Ctrl-C, or until the capture ends
    /// # std::fs::remove_file(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the kernel refuses the handlers.
    pub fn on_ctrl_c() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset, then sets it.
            flag::register_conditional_shutdown(signal, INTERRUPTED, stop.clone())
                .and_then(|_| flag::register(signal, stop.clone()))
                .map_err(|e| Error::io("Ctrl-C", format!("signal {signal} can't be handled"), e))?;
        }
        Ok(Self::with_stop(stop))
    }

    /// Signals whose stop is also set by other holders of `stop`, such as a signal handler.
    pub fn with_stop(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ended: Arc::default() }
    }

    /// Ends all loops within 100 ms.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether loops are to end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Sleeps for `period`, or until a stop, which is noticed within 50 ms.
    pub fn rest(&self, period: Duration) {
        let start = Instant::now();
        while !self.stopped() {
            let left = period.saturating_sub(start.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }

    /// Stops when it is dropped, also by a panic: for loops that work as long as something else does.
    pub fn guard(&self) -> StopGuard {
        StopGuard(Some(self.clone()))
    }

    /// The port has [ended](ringway::Port::ended): a receiver ends when its rings are empty.
    pub fn end_of_input(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Whether the port has ended.
    pub fn input_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }
}

/// Stops loops when it is dropped; see [`Signals::guard`].
#[derive(Debug)]
#[must_use = "it stops the loops when it is dropped"]
pub struct StopGuard(Option<Signals>);

impl StopGuard {
    /// Drops it without a stop.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.iter().for_each(Signals::stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_stops_and_a_disarmed_one_does_not() {
        let signals = Signals::new();
        signals.guard().disarm();
        assert!(!signals.stopped());
        drop(signals.guard());
        assert!(signals.stopped());
    }

    #[test]
    fn a_rest_ends_by_time_and_by_a_stop() {
        let signals = Signals::new();
        let start = Instant::now();
        signals.rest(Duration::from_millis(5));
        assert!(start.elapsed() >= Duration::from_millis(5));
        thread::scope(|scope| {
            scope.spawn(|| signals.rest(Duration::MAX));
            signals.stop();
        });
    }
}
