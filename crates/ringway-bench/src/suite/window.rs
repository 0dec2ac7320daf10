//! The time in which the sides of a benchmark measure, by the clock that all processes share.

use std::thread;
use std::time::Duration;

use ringway::time::monotonic_ns;

use super::Bed;
use super::meter::WARM_UP;
use crate::peers::Traffic;

/// How soon a benchmark that is to end does so.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Turns between two looks at the clock.
const TURNS: u32 = 64;

/// When frames count, in ns of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Window {
    /// After the warm-up, which starts now.
    pub(super) fn of(period: Duration) -> Self {
        let start = monotonic_ns() + WARM_UP.as_nanos() as u64;
        Self { start, end: start + period.as_nanos() as u64 }
    }

    /// As a side reads it.
    pub(super) fn line(self) -> String {
        format!("{} {}", self.start, self.end)
    }

    /// Of such a line.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (start, end) = line.trim_end().split_once(' ')?;
        Some(Self { start: start.parse().ok()?, end: end.parse().ok()? })
    }
}

/// Waits until that time of the monotonic clock; false when the benchmark is to end before.
pub(super) fn passed(bed: Bed<'_>, until: u64) -> bool {
    while !bed.signals.stopped() {
        match until.checked_sub(monotonic_ns()) {
            None | Some(0) => return true,
            Some(left) => thread::sleep(LOOK_EVERY.min(Duration::from_nanos(left))),
        }
    }
    false
}

/// Counts the frames of steps, of `len` bytes each, within the window, by that clock.
pub(super) fn count(
    window: Window,
    len: usize,
    clock: impl Fn() -> u64,
    mut step: impl FnMut() -> ringway::Result<u64>,
) -> ringway::Result<Traffic> {
    let (mut total, mut first) = (0, None);
    loop {
        for _ in 0..TURNS {
            let frames = step()?;
            total += frames;
            if frames == 0 {
                break; // it may have slept
            }
        }
        let now = clock();
        let Some((start, before)) = first else {
            first = (now >= window.start).then_some((now, total)); // late on a busy machine, and then still a while to measure
            continue;
        };
        if now >= window.end {
            let packets = total - before;
            let (bytes, seconds) = (packets * len as u64, (now - start) as f64 / 1e9);
            return Ok(Traffic { packets, bytes, seconds, drops: 0, total_packets: total });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    /// A clock that each step moves on by a microsecond.
    fn run(window: Window, frames: impl Fn(u64) -> u64) -> Traffic {
        let now = Cell::new(0);
        let step = || {
            now.set(now.get() + 1000);
            Ok(frames(now.get()))
        };
        count(window, 60, || now.get(), step).unwrap()
    }

    #[test]
    fn frames_in_the_window_count() {
        let window = Window { start: 1_000_000, end: 3_000_000 };
        // The clock is looked at every 64 steps: first at 1,024,000, last at 3,008,000.
        let counted = run(window, |now| if (1_024_001..=3_008_000).contains(&now) { 1 } else { 1000 });
        assert_eq!((counted.packets, counted.bytes), (1984, 1984 * 60));
        assert_eq!(counted.total_packets, 1984 + 1024 * 1000);
        assert!((counted.seconds - 0.001_984).abs() < 1e-9, "{counted:?}");
    }

    #[test]
    fn who_comes_late_measures_all_the_same() {
        let counted = run(Window { start: 1000, end: 2000 }, |_| 1);
        assert_eq!((counted.packets, counted.total_packets), (64, 128));
        assert!(counted.seconds > 0.0);
    }

    #[test]
    fn silence_ends_in_time() {
        let counted = run(Window { start: 1000, end: 5000 }, |_| 0);
        assert_eq!((counted.packets, counted.total_packets), (0, 0));
        assert!(
            (counted.seconds - 0.000_004).abs() < 1e-9,
            "a step without frames is followed by a look: {counted:?}"
        );
    }

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
    fn who_is_told_to_end_waits_no_longer() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.01, &signals);
        assert!(passed(bed, monotonic_ns()));
        signals.stop();
        assert!(!passed(bed, monotonic_ns() + 3_600_000_000_000));
    }
}
