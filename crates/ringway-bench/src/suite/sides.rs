//! Sender and receiver as two processes: how they are started, and the time in which they measure.
//!
//! The benchmark starts a program of its caller twice, as a [`SideCommand`] says, with three words more:
//! `send` or `receive`, the port, the CPU. Each side opens its port and says `ready`. Then the benchmark
//! names both the same window of the monotonic clock, which all processes share, and the receiver counts in
//! it. A side prints its result as a peer does.
//!
//! A side does not outlive the benchmark: it gets SIGTERM when that ends, and the end of its standard input
//! before it has a window. What sides of a killed benchmark shared is in a folder that the next benchmark
//! deletes.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ringway::time::monotonic_ns;

use super::bed::{MEMORY, SENDER, receiver};
use super::meter::WARM_UP;
pub(super) use super::side_command::Role;
pub use super::side_command::SideCommand;
use super::{Bed, Fault, Sample};
use ringway_lab::TemporaryFolder;

/// How soon a benchmark that is to end does so.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When frames count, in ns of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Window {
    /// After the warm-up, which starts now.
    fn of(period: Duration) -> Self {
        let start = monotonic_ns() + WARM_UP.as_nanos() as u64;
        Self { start, end: start + period.as_nanos() as u64 }
    }

    fn line(self) -> String {
        format!("{} {}", self.start, self.end)
    }

    /// Of the line that a side reads.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (start, end) = line.trim_end().split_once(' ')?;
        Some(Self { start: start.parse().ok()?, end: end.parse().ok()? })
    }
}

/// From a process on CPU 0 that sends on the first port to one on CPU 1 that receives on the second. Counts the frames taken.
pub(super) fn between(bed: Bed<'_>, ports: [&str; 2]) -> Result<Sample, Fault> {
    let command = bed.sides()?;
    let folder = TemporaryFolder::create(Path::new(MEMORY))
        .map_err(|e| Fault::Failed(format!("{MEMORY}: no folder can be made there: {e}")))?;
    let mut taker = command.start(Role::Receive, ports[1], receiver(), folder.path())?;
    let mut sender = command.start(Role::Send, ports[0], SENDER, folder.path())?;
    let window = Window::of(Duration::from_secs_f64(bed.seconds));
    for side in [&mut taker, &mut sender] {
        side.tell(&window.line())?;
    }
    if !passed(bed, window) {
        return Err(Fault::Failed("interrupted".into()));
    }
    sender.finish()?;
    let taken = taker.finish()?;
    match taken.traffic().map_or(0.0, |t| t.pps()) {
        pps if pps > 0.0 => Ok(Sample::of(pps / 1e6)),
        _ => Err(Fault::Failed("nothing was received".into())),
    }
}

/// Waits until the window is over; false when the benchmark is to end before.
fn passed(bed: Bed<'_>, window: Window) -> bool {
    while !bed.signals.stopped() {
        match window.end.checked_sub(monotonic_ns()) {
            None | Some(0) => return true,
            Some(left) => thread::sleep(LOOK_EVERY.min(Duration::from_nanos(left))),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn a_window_is_told_on_a_line() {
        let window = Window::of(Duration::from_millis(5));
        assert_eq!(window.end - window.start, 5_000_000);
        assert_eq!(Window::parse(&(window.line() + "\n")), Some(window));
        for wrong in ["", "1", "1 x", "1 2 3"] {
            assert_eq!(Window::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn roles_have_names() {
        assert_eq!(
            [Role::of("send"), Role::of("receive"), Role::of("x")],
            [Some(Role::Send), Some(Role::Receive), None]
        );
    }

    #[test]
    fn without_a_program_it_is_skipped() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.01, &signals);
        assert!(matches!(between(bed, ["loop:", "loop:"]), Err(Fault::Unavailable(_))));
    }

    #[test]
    fn who_is_told_to_end_waits_no_longer() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.01, &signals);
        assert!(passed(bed, Window::of(Duration::ZERO)));
        signals.stop();
        assert!(!passed(bed, Window::of(Duration::from_secs(3600))));
    }
}
