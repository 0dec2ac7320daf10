//! When frames are due: an absolute schedule, so that errors never add up.

use super::mix::Mix;
use super::rate::Rate;

/// One stretch of a schedule at one rate.
#[derive(Clone, Debug)]
struct Stretch {
    /// Picoseconds after the start of the trial.
    start_ps: u64,
    /// Number of its first frame.
    first: u64,
    /// Frames in it.
    count: u64,
    /// Units of the mix a second.
    rate: Rate,
}

/// Due times of the frames of one stream: frame `i` of a stretch is due at its start plus `floor(i t)`.
///
/// Frames of several sizes are spaced by the wire time of the frame before, as on a wire. Most schedules are one stretch;
/// the recovery test has two.
///
/// ```
/// use ringway_tester::trial::{mix::Mix, rate::{Rate, SECOND}, schedule::Schedule};
/// let mut schedule = Schedule::new(Mix::fixed(64));
/// schedule.push(Rate::line(1_000_000_000, 64), SECOND / 1000);
/// assert_eq!(schedule.frames(), 1489); // ceil(1488.09...)
/// assert_eq!(schedule.due_ps(1), 672_000);
/// assert_eq!(schedule.due_by(672_000), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    mix: Mix,
    stretches: Vec<Stretch>,
    end_ps: u64,
    /// Frames that leave together, and the rate within such a burst; `None` when all are evenly spaced.
    bursts: Option<(u64, Rate)>,
    /// Frames that a late sender makes up for.
    catch_up: u64,
}

impl Schedule {
    /// A schedule without frames yet.
    #[must_use]
    pub fn new(mix: Mix) -> Self {
        Self { mix, stretches: Vec::new(), end_ps: 0, bursts: None, catch_up: CATCH_UP }
    }

    /// The same with frames in bursts of `frames` at the rate `within`: each begins when its first frame is due. For frames of one
    /// size, at rates up to `within`.
    #[must_use]
    pub fn in_bursts(self, frames: u64, within: Rate) -> Self {
        let bursts = (frames > 1 && self.mix.is_fixed()).then_some((frames, within));
        Self { bursts, ..self }
    }

    /// The same for a sender that makes up for a delay of `frames` instead of [`CATCH_UP`].
    #[must_use]
    pub fn with_catch_up(self, frames: u64) -> Self {
        Self { catch_up: frames, ..self }
    }

    /// Appends a stretch of `length_ps` at `rate`, the mix's units a second: frames for a fixed size.
    pub fn push(&mut self, rate: Rate, length_ps: u64) {
        let count = self.mix.frames_below(rate.frames_in(length_ps));
        self.append(rate, count, length_ps);
    }

    /// Appends exactly `count` frames at `rate`.
    pub fn push_count(&mut self, rate: Rate, count: u64) {
        let length = rate.offset_ps(self.mix.position(count));
        self.append(rate, count, length);
    }

    fn append(&mut self, rate: Rate, count: u64, length_ps: u64) {
        let first = self.frames();
        self.stretches.push(Stretch { start_ps: self.end_ps, first, count, rate });
        self.end_ps += length_ps;
    }

    /// Frames in all.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.stretches.last().map_or(0, |s| s.first + s.count)
    }

    /// When it is over, picoseconds after the start.
    #[must_use]
    pub fn end_ps(&self) -> u64 {
        self.end_ps
    }

    /// The sizes of its frames.
    #[must_use]
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// When frame `n` is due, picoseconds after the start; for frames behind the last, the end.
    #[must_use]
    pub fn due_ps(&self, n: u64) -> u64 {
        let at = self.stretches.partition_point(|s| s.first + s.count <= n);
        let Some(s) = self.stretches.get(at) else { return self.end_ps };
        let place = n - s.first;
        match self.bursts {
            None => s.start_ps + s.rate.offset_ps(self.mix.position(place)),
            Some((frames, within)) => {
                let behind = place % frames;
                s.start_ps + s.rate.offset_ps(place - behind) + within.offset_ps(behind)
            }
        }
    }

    /// Frames due until `ps` after the start, that instant included.
    #[must_use]
    pub fn due_by(&self, ps: u64) -> u64 {
        let at = self.stretches.partition_point(|s| s.start_ps <= ps);
        let Some(s) = at.checked_sub(1).and_then(|k| self.stretches.get(k)) else { return 0 };
        let even = self.mix.frames_below(s.rate.due_by(ps - s.start_ps));
        let due = match self.bursts {
            // Frames that would be due by now when evenly spaced say which burst has begun.
            Some((frames, within)) if even > 0 => {
                let first = (even - 1) / frames * frames;
                first + within.due_by(ps - s.start_ps - s.rate.offset_ps(first)).min(frames)
            }
            _ => even,
        };
        s.first + due.min(s.count)
    }

    /// End of the stretch that frame `n` belongs to, as a frame number: up to there frames are evenly spaced.
    #[must_use]
    pub fn stretch_end(&self, n: u64) -> u64 {
        let at = self.stretches.partition_point(|s| s.first + s.count <= n);
        self.stretches.get(at).map_or(n, |s| s.first + s.count)
    }

    /// First frame of the stretch that frame `n` belongs to.
    #[must_use]
    pub fn stretch_start(&self, n: u64) -> u64 {
        let at = self.stretches.partition_point(|s| s.first + s.count <= n);
        self.stretches.get(at).map_or(n, |s| s.first)
    }

    /// Frames a second at the highest of its rates.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let units = self.mix.units_per_frame();
        self.stretches.iter().map(|s| s.rate.as_f64() / units).fold(0.0, f64::max)
    }
}

/// How far a sender may run above the schedule to make up for a delay, in frames.
pub const CATCH_UP: u64 = 64;

/// Frames that may leave together.
pub const BURST: u64 = 32;

/// A sender's place in a schedule: what is due now, and what has to be given up.
///
/// Frames are numbered as they leave, without holes. A sender that is more than the catch-up limit behind gives the rest of
/// its backlog up: those frames are never sent, and the sum of both is the schedule.
#[derive(Clone, Debug)]
pub struct Cursor {
    sent: u64,
    given_up: u64,
}

impl Cursor {
    /// At the start.
    #[must_use]
    pub fn new() -> Self {
        Self { sent: 0, given_up: 0 }
    }

    /// Frames that may leave at `now_ps` after the start. What is beyond the limit is given up.
    pub fn due(&mut self, schedule: &Schedule, now_ps: u64) -> u64 {
        let behind = self.ahead(schedule, now_ps);
        self.given_up += behind.saturating_sub(schedule.catch_up);
        behind.min(schedule.catch_up)
    }

    /// Frames due until `ps` that are not gone; gives nothing up.
    #[must_use]
    pub fn ahead(&self, schedule: &Schedule, ps: u64) -> u64 {
        schedule.due_by(ps).saturating_sub(self.place())
    }

    /// Notes that `n` frames left.
    pub fn advance(&mut self, n: u64) {
        self.sent += n;
    }

    /// Frames that left: the number of the next one.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Frames that were given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Place of the next frame in the schedule.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.sent + self.given_up
    }
}

impl Default for Cursor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::rate::{Load, MICROSECOND, MILLISECOND, SECOND};
    use proptest::prelude::*;

    fn fixed(pps: u64, length_ps: u64) -> Schedule {
        let mut schedule = Schedule::new(Mix::fixed(64));
        schedule.push(Rate::new(pps, 1), length_ps);
        schedule
    }

    #[test]
    fn stretches_follow_each_other() {
        let mut schedule = fixed(1000, 10 * MILLISECOND);
        schedule.push(Rate::new(500, 1), 10 * MILLISECOND);
        assert_eq!((schedule.frames(), schedule.end_ps()), (15, 20 * MILLISECOND));
        assert_eq!([9, 10, 11, 15].map(|n| schedule.due_ps(n) / MILLISECOND), [9, 10, 12, 20]);
        assert_eq!(
            [0, 9, 10, 11, 12, 99].map(|ms| schedule.due_by(ms * MILLISECOND)),
            [1, 10, 11, 11, 12, 15]
        );
        assert_eq!([0, 9, 10, 15].map(|n| schedule.stretch_end(n)), [10, 10, 15, 15]);
        assert_eq!(schedule.peak(), 1000.0);
    }

    #[test]
    fn a_count_is_kept() {
        let mut schedule = Schedule::new(Mix::fixed(64));
        schedule.push_count(Rate::line(10_000_000_000, 64), 1001);
        assert_eq!((schedule.frames(), schedule.due_by(u64::MAX)), (1001, 1001));
        assert_eq!(schedule.due_ps(1000), 67_200 * 1000);
    }

    #[test]
    fn a_delay_is_made_up_for_within_the_limit() {
        let schedule = fixed(1_000_000, SECOND);
        let mut cursor = Cursor::new();
        assert_eq!(cursor.due(&schedule, 0), 1);
        cursor.advance(1);
        assert_eq!((cursor.due(&schedule, 64 * MICROSECOND), cursor.given_up()), (64, 0));
        assert_eq!((cursor.due(&schedule, 100 * MICROSECOND), cursor.given_up()), (64, 36));
        cursor.advance(64);
        assert_eq!((cursor.due(&schedule, 101 * MICROSECOND), cursor.place()), (1, 101));
        cursor.advance(1);
        let _ = cursor.due(&schedule, u64::MAX);
        cursor.advance(64);
        assert_eq!(cursor.sent() + cursor.given_up(), schedule.frames());
    }

    proptest! {
        /// Whenever it is polled, a sender that keeps up sends the whole schedule, never a frame early.
        #[test]
        fn exactly_the_schedule_and_never_early(
            megabits in 10u64..100_000, size in 64u32..1519, load in 1u32..1_000_001, steps in proptest::collection::vec(0u64..60, 1..200),
        ) {
            let rate = Rate::line(megabits * 1_000_000, size).at(Load(load));
            let mut schedule = Schedule::new(Mix::fixed(size));
            schedule.push_count(rate, 1000);
            let mut cursor = Cursor::new();
            let mut now = 0;
            for step in steps {
                now += rate.offset_ps(step);
                let due = cursor.due(&schedule, now);
                if due > 0 {
                    prop_assert!(schedule.due_ps(cursor.place() + due - 1) <= now);
                }
                cursor.advance(due);
                prop_assert!(cursor.place() == 1000 || schedule.due_ps(cursor.place()) > now);
            }
            prop_assert_eq!(cursor.given_up(), 0);
        }

        /// In bursts due times and counts are inverse too, and no burst reaches into the next.
        #[test]
        fn bursts_begin_when_their_first_frame_is_due(load in 1u32..1_000_001, frames in 2u64..1000, n in 0u64..100_000) {
            let line = Rate::line(1_000_000_000, 64);
            let mut even = Schedule::new(Mix::fixed(64));
            even.push_count(line.at(Load(load)), 200_000);
            let bursts = even.clone().in_bursts(frames, line);
            let at = bursts.due_ps(n);
            prop_assert!(at <= even.due_ps(n) && at < bursts.due_ps(n + 1));
            prop_assert_eq!((bursts.due_by(at), bursts.due_by(at - 1.min(at)) <= n), (n + 1, at > 0));
            if n % frames == 0 {
                prop_assert_eq!(at, even.due_ps(n));
            }
        }

        #[test]
        fn mixes_are_spaced_by_wire_times(n in 0u64..1_000_000, load in 1u32..1_000_001) {
            let mix = Mix::imix();
            let mut schedule = Schedule::new(mix.clone());
            schedule.push(mix.line(10_000_000_000).at(Load(load)), 100 * SECOND);
            let (at, next) = (schedule.due_ps(n), schedule.due_ps(n + 1));
            prop_assume!(n + 1 < schedule.frames());
            prop_assert_eq!(schedule.due_by(at), n + 1);
            let wire = u128::from(mix.size(n) + 20) * 800 * 1_000_000 / u128::from(load);
            prop_assert!(u128::from(next - at).abs_diff(wire) <= 1, "{} {}", next - at, wire);
        }
    }
}
