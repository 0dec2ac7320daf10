//! Counts of the calls that were served here and passed on. A program that was started with `RINGWAY_VERBOSE=1` prints them at its end.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::sys;

/// A count of calls or frames.
pub(crate) struct Tally(AtomicU64);

impl Tally {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn add(&self, n: u64) {
        // Threads would else take the words away from each other for nothing.
        if ON.load(Relaxed) {
            self.0.fetch_add(n, Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

static ON: AtomicBool = AtomicBool::new(false);

pub(crate) static OPENED: Tally = Tally::new();
pub(crate) static REFUSED: Tally = Tally::new();
pub(crate) static READS: Tally = Tally::new();
pub(crate) static RECEIVED: Tally = Tally::new();
pub(crate) static SENT: Tally = Tally::new();
pub(crate) static PASSED_ON: Tally = Tally::new();

/// Runs when the library is loaded.
pub(crate) fn start() {
    ringway_shim::note_rights();
    if crate::devices::serves() && ringway::environment("RINGWAY_VERBOSE").is_some_and(|v| v == "1") {
        ON.store(true, Relaxed);
        sys::at_exit(report);
    }
}

extern "C" fn report() {
    let text = text(std::process::id());
    // A program that closed its standard error gets no report.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn text(pid: u32) -> String {
    let [opened, refused, reads, received, sent, passed] =
        [&OPENED, &REFUSED, &READS, &RECEIVED, &SENT, &PASSED_ON].map(Tally::get);
    format!(
        "ringway: libpcap calls of pid {pid}: {opened} ports opened, {refused} refused; \
         {received} packets in {reads} reads, {sent} packets sent; {passed} opens passed on to the system's libpcap\n"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_line() {
        let text = super::text(7);
        assert!(text.starts_with("ringway: libpcap calls of pid 7: ") && text.lines().count() == 1);
    }
}
