//! When frames that a program sends one by one may leave together.

use std::time::{Duration, Instant};

use ringway::environment;

/// Whether a frame waits for others: the rule of the libraries that `ringway run` puts under programs.
///
/// A program that sends frame by frame pays for a sync with each, which costs several times what the frame does. So in a dense
/// stream, where a program sends a frame within [`GAP`](Self::GAP) of having sent the one before, frames wait for each other; the
/// one after a pause leaves at once. None waits longer than the [`bound`](Self::bound): the user of this rule sees to that, with
/// a thread, and also sends the waiting frames before the program sleeps.
///
/// ```
/// use std::time::{Duration, Instant};
/// use ringway_shim::Coalesce;
///
/// let (mut rule, start) = (Coalesce::new(Some(Coalesce::BOUND)), Instant::now());
/// assert!(!rule.waits(start), "the first one leaves");
/// rule.left(start + Duration::from_micros(20));
/// assert!(rule.waits(start + Duration::from_micros(22)), "the next one is close behind");
/// assert!(!rule.waits(start + Duration::from_millis(2)), "after a pause");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Coalesce {
    bound: Option<Duration>,
    last: Option<Instant>,
}

impl Coalesce {
    /// Pauses shorter than this make a stream dense.
    pub const GAP: Duration = Duration::from_micros(10);

    /// How long a frame may wait by default.
    pub const BOUND: Duration = Duration::from_micros(100);

    /// The longest bound that is taken from the environment.
    const MOST: Duration = Duration::from_secs(1);

    /// A stream that has not begun. Without a bound no frame ever waits.
    #[must_use]
    pub fn new(bound: Option<Duration>) -> Self {
        Self { bound, last: None }
    }

    /// The bound in microseconds that the variable `RINGWAY_BATCH_US` says: 0 for none, [`BOUND`](Self::BOUND) when it says
    /// nothing.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::parse(&environment("RINGWAY_BATCH_US").unwrap_or_default().to_string_lossy())
    }

    fn parse(text: &str) -> Self {
        let bound = text.trim().parse().map_or(Self::BOUND, Duration::from_micros);
        Self::new((!bound.is_zero()).then(|| bound.min(Self::MOST)))
    }

    /// How long a frame waits at most; `None` when none ever does.
    #[must_use]
    pub fn bound(&self) -> Option<Duration> {
        self.bound
    }

    /// Notes a frame that is sent while no other waits. Whether it waits.
    pub fn waits(&mut self, now: Instant) -> bool {
        let last = self.last.replace(now);
        self.bound.is_some() && last.is_some_and(|l| now.saturating_duration_since(l) < Self::GAP)
    }

    /// Notes the end of a call that made frames leave: how long that took is not the program's pause.
    pub fn left(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_sets_the_bound() {
        let bound = |text| Coalesce::parse(text).bound().map(|b| b.as_micros());
        assert_eq!((bound(""), bound("0"), bound(" 50 ")), (Some(100), None, Some(50)));
        assert_eq!((bound("-3"), bound("99999999999")), (Some(100), Some(1_000_000)));
    }

    #[test]
    fn without_a_bound_nothing_waits() {
        let (mut rule, now) = (Coalesce::new(None), Instant::now());
        assert!(!(0..9).any(|_| rule.waits(now)));
    }

    #[test]
    fn a_stream_goes_on_after_a_burst() {
        let (mut rule, start) = (Coalesce::parse(""), Instant::now());
        rule.waits(start);
        rule.left(start + Duration::from_millis(1));
        assert!(rule.waits(start + Duration::from_micros(1005)));
    }

    #[test]
    fn a_pause_ends_a_stream() {
        let (mut rule, start) = (Coalesce::parse(""), Instant::now());
        let at = |us| start + Duration::from_micros(us);
        let waits: Vec<_> = [0, 9, 18, 28, 37].map(|us| rule.waits(at(us))).into();
        assert_eq!(waits, [false, true, true, false, true]);
    }
}
