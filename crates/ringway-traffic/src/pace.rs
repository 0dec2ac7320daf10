//! Sending at a rate: an absolute schedule, so that errors never add up.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::number;

/// Bytes a frame takes on the wire beyond its length without FCS: FCS 4, preamble 8, inter-frame gap 12.
pub const WIRE_OVERHEAD: usize = 24;

/// How late a schedule may be and still catch up, unless set otherwise.
pub const DEFAULT_CATCH_UP_NS: u64 = 10_000_000;

/// Numbers that a rate may be: all that the schedule can keep, in frames as in bits per second.
const ACCEPTED: RangeInclusive<f64> = 1e-6..=1e15;

/// Micro-frames per second times nanoseconds in one frame.
const SCALE: u128 = 1_000_000 * 1_000_000_000;

/// A rate as written by a user: frames or bits per second.
///
/// Numbers are as in [`number`], with `pps` (the default), `bit`, `bit/s` or `bps`; `0` and `max`
/// mean as fast as possible. A number too small or too large for the schedule is refused.
///
/// ```
/// use ringway_traffic::pace::Rate;
///
/// assert_eq!("1.5M".parse::<Rate>()?.pps(60), Some(1.5e6));
/// let line = "10Gbit".parse::<Rate>()?.pps(60).unwrap();
/// assert_eq!(line.round(), 14_880_952.0);
/// assert_eq!("max".parse::<Rate>()?.pps(60), None);
/// # Ok::<(), ringway_traffic::pace::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as possible.
    Unlimited,
    /// Frames per second.
    Frames(f64),
    /// Bits per second on the wire, with FCS, preamble and inter-frame gap.
    Bits(f64),
}

impl Rate {
    /// Frames per second for frames of `length` bytes without FCS; `None` when there is no limit.
    pub fn pps(self, length: usize) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Frames(pps) => Some(pps),
            Self::Bits(bps) => Some(bps / (8 * (length + WIRE_OVERHEAD)) as f64),
        }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let lower = text.trim().to_ascii_lowercase();
        if lower == "max" {
            return Ok(Self::Unlimited);
        }
        let of_bits = number::without_bits(&lower);
        let number = of_bits.or_else(|| number::without_frames(&lower)).unwrap_or(&lower);
        match number::real(number) {
            Some(0.0) if !number.bytes().any(|byte| matches!(byte, b'1'..=b'9')) => Ok(Self::Unlimited),
            Some(value) if !ACCEPTED.contains(&value) => Err(RateError(text.to_owned())),
            Some(value) if of_bits.is_some() => Ok(Self::Bits(value)),
            Some(value) => Ok(Self::Frames(value)),
            None => Err(RateError(text.to_owned())),
        }
    }
}

/// A rate that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateError(String);

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bad rate '{}'; accepted: NUMBER[k|M|G][pps|bit] such as 10k, 1.5Mpps or 10Gbit, from 0.000001 to 1000000G, or max",
            self.0
        )
    }
}

impl std::error::Error for RateError {}

/// Says how many frames may be sent now.
///
/// Frame `i` is due at `start + (i / burst) * burst / rate`: the first burst at once, then one burst every
/// `burst / rate`. The times follow from the start alone, in integers (the rate is kept in millionths of a
/// frame per second), so nothing drifts. Never more than `rate * time + burst` frames are let go.
///
/// A sender held up for longer than the catch-up limit (10 ms unless set) sends only that much in
/// one go. It gives up the rest of its backlog, and counts it in [`skipped`](Self::skipped). A
/// total given with [`with_count`](Self::with_count) is sent in full all the same, later.
///
/// ```
/// use ringway_traffic::pace::Pacer;
///
/// let mut pacer = Pacer::new(Some(1e6), 0).with_burst(4).with_count(10);
/// assert_eq!(pacer.allowed(0, 0), 4);
/// assert_eq!(pacer.allowed(3_999, 4), 0);
/// assert_eq!(pacer.next_due_ns(4), Some(4_000));
/// assert_eq!(pacer.allowed(4_000, 4), 4);
/// assert_eq!(pacer.allowed(8_000, 8), 2); // a short last burst
/// assert_eq!(pacer.next_due_ns(10), None);
/// ```
#[derive(Clone, Debug)]
pub struct Pacer {
    start_ns: u64,
    /// Millionths of a frame per second; `None` without limit.
    rate: Option<u64>,
    burst: u64,
    count: u64,
    catch_up_ns: u64,
    skipped: u64,
}

impl Pacer {
    /// A schedule of single frames from `start_ns` on, without end. The rate is rounded to a millionth of a
    /// frame per second and is at least that much.
    pub fn new(rate_pps: Option<f64>, start_ns: u64) -> Self {
        let rate = rate_pps.map(|pps| (pps * 1e6).round().max(1.0) as u64);
        Self { start_ns, rate, burst: 1, count: u64::MAX, catch_up_ns: DEFAULT_CATCH_UP_NS, skipped: 0 }
    }

    /// Frames that fall due together, at least one.
    #[must_use]
    pub fn with_burst(self, burst: u64) -> Self {
        Self { burst: burst.max(1), ..self }
    }

    /// Total number of frames to send.
    #[must_use]
    pub fn with_count(self, count: u64) -> Self {
        Self { count, ..self }
    }

    /// How much of a delay is made up for. One burst always is.
    #[must_use]
    pub fn with_catch_up_ns(self, catch_up_ns: u64) -> Self {
        Self { catch_up_ns, ..self }
    }

    /// Number of frames that may be sent at `now_ns` when `sent` are already gone.
    pub fn allowed(&mut self, now_ns: u64, sent: u64) -> u64 {
        let remaining = self.count.saturating_sub(sent);
        let Some(rate) = self.rate else { return remaining };
        if remaining == 0 || now_ns < self.start_ns {
            return 0;
        }
        let bursts =
            u128::from(now_ns - self.start_ns) * u128::from(rate) / (SCALE * u128::from(self.burst)) + 1;
        let due = u64::try_from(bursts * u128::from(self.burst)).unwrap_or(u64::MAX);
        let mut pending = due.saturating_sub(sent).saturating_sub(self.skipped);
        if pending > self.burst {
            let limit = self.backlog_limit(rate);
            self.skipped += pending.saturating_sub(limit);
            pending = pending.min(limit);
        }
        pending.min(remaining)
    }

    /// When the next frame is due, `sent` being gone: in the past if it is late, `None` when all are sent.
    pub fn next_due_ns(&self, sent: u64) -> Option<u64> {
        if sent >= self.count {
            return None;
        }
        let Some(rate) = self.rate else { return Some(self.start_ns) };
        let index = sent.saturating_add(self.skipped) / self.burst * self.burst;
        let wait = (u128::from(index) * SCALE).div_ceil(u128::from(rate));
        Some(u64::try_from(u128::from(self.start_ns) + wait).unwrap_or(u64::MAX))
    }

    /// Frames given up because the sender was late; a trial at an exact rate must end with zero.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn backlog_limit(&self, rate: u64) -> u64 {
        let frames = u128::from(self.catch_up_ns) * u128::from(rate) / SCALE;
        u64::try_from(frames).unwrap_or(u64::MAX).max(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn rates() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        assert_eq!(rate("0"), Rate::Unlimited);
        assert_eq!(rate("MAX"), Rate::Unlimited);
        assert_eq!(rate("42"), Rate::Frames(42.0));
        assert_eq!(rate("10k"), Rate::Frames(10e3));
        assert_eq!(rate("10 kpps"), Rate::Frames(10e3));
        assert_eq!(rate(".5g"), Rate::Frames(0.5e9));
        assert_eq!(rate("2.5 Gbps"), Rate::Bits(2.5e9));
        assert_eq!(rate("100bps"), Rate::Bits(100.0));
        for (text, bits) in [("10Gbit", 10e9), ("100mbit", 100e6), ("1.5 kbit/s", 1500.0), ("5bits", 5.0)] {
            assert_eq!(rate(text), Rate::Bits(bits), "{text}");
        }
        assert_eq!(rate("10Gbps").pps(1514), Some(10e9 / (1538.0 * 8.0)));
        let [huge, tiny] = [format!("1{}", "0".repeat(400)), format!("0.{}1", "0".repeat(400))];
        assert_eq!(rate("1000000G"), Rate::Frames(1e15));
        for bad in [
            &huge,
            &tiny,
            "2000000G",
            "0.0000001",
            "",
            "k",
            "-1",
            "1x",
            "inf",
            "nan",
            "1e6",
            "1kk",
            "pps",
            ".",
            "Gbps",
            "Gbit",
            "10Gbyte",
        ] {
            let error = bad.parse::<Rate>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("bad rate '{bad}'; accepted: NUMBER")), "{error}");
        }
    }

    #[test]
    fn no_rate_means_all_at_once() {
        let mut pacer = Pacer::new(None, 50);
        assert_eq!(pacer.allowed(0, 5), u64::MAX - 5);
        let mut pacer = pacer.with_count(9);
        assert_eq!((pacer.allowed(0, 5), pacer.next_due_ns(5)), (4, Some(50)));
        assert_eq!((pacer.allowed(0, 9), pacer.next_due_ns(9)), (0, None));
    }

    #[test]
    fn nothing_before_the_start() {
        let mut pacer = Pacer::new(Some(1e9), 100);
        assert_eq!((pacer.allowed(99, 0), pacer.allowed(100, 0)), (0, 1));
    }

    #[test]
    fn late_sender_catches_up_within_its_limit() {
        let mut pacer = Pacer::new(Some(1e6), 0).with_catch_up_ns(5_000);
        assert_eq!((pacer.allowed(5_000, 1), pacer.skipped()), (5, 0));
        assert_eq!((pacer.allowed(100_000, 1), pacer.skipped()), (5, 95));
        assert_eq!(pacer.allowed(100_999, 6), 0);
        assert_eq!(pacer.next_due_ns(6), Some(101_000));
        assert_eq!((pacer.allowed(101_000, 6), pacer.skipped()), (1, 95));
    }

    #[test]
    fn slow_and_extreme_rates() {
        let mut pacer = Pacer::new(Some(0.5), 0);
        assert_eq!((pacer.allowed(0, 0), pacer.next_due_ns(1)), (1, Some(2 * SECOND)));
        assert_eq!((pacer.allowed(100 * SECOND, 1), pacer.skipped()), (1, 49));
        for odd in [0.0, -1.0, f64::NAN] {
            assert_eq!(Pacer::new(Some(odd), 0).next_due_ns(1), Some(1_000_000 * SECOND));
        }
        let mut pacer = Pacer::new(Some(f64::INFINITY), 0);
        assert!(pacer.allowed(u64::MAX, 0) > 0);
        assert!(pacer.next_due_ns(u64::MAX - 1).is_some());
    }

    #[test]
    fn no_drift_over_an_hour_of_odd_periods() {
        // 1/3 frame per microsecond has no exact period in nanoseconds.
        let rate = 1e6 / 3.0;
        let mut pacer = Pacer::new(Some(rate), 7).with_burst(16);
        let mut sent = 0;
        let mut now = 7;
        while now < 7 + 3600 * SECOND {
            sent += pacer.allowed(now, sent);
            now += 1_234_567;
        }
        let expected = rate * (now - 1_234_567 - 7) as f64 / 1e9;
        assert!((sent as f64 - expected).abs() <= 16.0, "{sent} {expected}");
        assert_eq!(pacer.skipped(), 0);
    }

    proptest! {
        #[test]
        fn never_ahead_and_exactly_count(
            rate in 1.0f64..1e8, burst in 1u64..1024, count in 1u64..5000, start in 0u64..1 << 60,
            steps in proptest::collection::vec((0u64..3_000_000, 1u64..2000), 1..200),
        ) {
            let mut pacer = Pacer::new(Some(rate), start).with_burst(burst).with_count(count);
            let (mut now, mut sent) = (start, 0);
            let mut steps = steps.into_iter().cycle();
            while let Some(due) = pacer.next_due_ns(sent) {
                let (step, room) = steps.next().unwrap();
                now += step;
                let mut allowed = pacer.allowed(now, sent);
                prop_assert_eq!(allowed > 0, now >= due);
                if allowed == 0 {
                    now = due; // sleep until then
                    allowed = pacer.allowed(now, sent);
                    prop_assert!(allowed > 0);
                }
                sent += allowed.min(room);
                let most = rate * (now - start) as f64 / 1e9 * (1.0 + 1e-6) + burst as f64 + 1e-3;
                prop_assert!(sent as f64 <= most, "{} sent, {} due", sent, most);
            }
            prop_assert_eq!(sent, count);
            prop_assert_eq!(pacer.allowed(u64::MAX, sent), 0);
        }

        #[test]
        fn no_drift_over_an_hour(
            rate in 1.0f64..2e7, burst in 1u64..512,
            steps in proptest::collection::vec(1u64..2 * SECOND, 1..50),
        ) {
            let mut pacer = Pacer::new(Some(rate), 0).with_burst(burst).with_catch_up_ns(u64::MAX);
            let (mut now, mut sent) = (0, 0);
            for step in steps.into_iter().cycle() {
                sent += pacer.allowed(now, sent);
                if now > 3600 * SECOND {
                    break;
                }
                now += step;
            }
            let scheduled = (rate * 1e6).round() / 1e6 * now as f64 / 1e9;
            prop_assert!(sent as f64 > scheduled - 1e-3 && sent as f64 <= scheduled + burst as f64 + 1e-3);
            prop_assert_eq!(pacer.skipped(), 0);
        }
    }
}
