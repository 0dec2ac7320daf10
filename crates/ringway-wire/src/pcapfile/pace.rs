//! When each record of a replay is due.

use super::PcapError;

/// A record this much older than the newest one means that the capturing clock was set back, in nanoseconds.
///
/// Less than that is reordering, as multi-queue captures show it.
const CLOCK_STEP_NS: u64 = 1_000_000_000;

/// How fast to replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// With the gaps of the capture.
    CaptureTimes,
    /// With the gaps of the capture divided by this: 2.0 is twice as fast.
    Multiple(f64),
    /// Without gaps.
    TopSpeed,
}

/// Answer of [`Pacer::due`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Send it now.
    Now,
    /// Send it in so many nanoseconds.
    In(u64),
}

/// Replay schedule: a pure function of record times and the clock passed in.
///
/// The schedule is absolute. It starts when the first record is asked for, and every record has its
/// place at a distance from that start. So lateness and rounding do not add up: a sender that fell
/// behind gets `Now` until it has caught up.
///
/// A record older than the one before it is due now. If it is older by more than a second, the
/// capture's clock was set back, and the schedule goes on from there. If by less, records were out
/// of order, and the newest stays the reference. A gap of any length is kept; sums saturate.
///
/// # Example
///
/// ```
/// use ringway_wire::pcapfile::{Due, Pacer, Speed};
///
/// let mut pacer = Pacer::new(Speed::Multiple(2.0))?;
/// assert_eq!(pacer.due(5_000, 70), Due::Now);
/// assert_eq!(pacer.due(6_000, 80), Due::In(490));
/// assert_eq!(pacer.due(6_000, 600), Due::Now); // 30 ns late
/// assert_eq!(pacer.due(7_000, 600), Due::In(470)); // not later for it
/// # Ok::<(), ringway_wire::pcapfile::PcapError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pacer {
    speed: Speed,
    /// Clock at the first record; `None` before it.
    start_ns: Option<u64>,
    /// Place of the last record sent, in capture time since the start.
    place_ns: u64,
    /// Newest record time of this loop; `None` before its first record.
    newest_ns: Option<u64>,
    /// Place of the first record of this loop.
    loop_place_ns: u64,
    /// Records of this loop sent so far.
    loop_records: u64,
}

impl Pacer {
    /// A schedule that has not started.
    ///
    /// # Errors
    ///
    /// `BadSpeed` for a multiple that is zero, negative, infinite or not a number.
    pub fn new(speed: Speed) -> Result<Self, PcapError> {
        if let Speed::Multiple(factor) = speed
            && !(factor.is_finite() && factor > 0.0)
        {
            return Err(PcapError::BadSpeed { factor });
        }
        Ok(Self { speed, start_ns: None, place_ns: 0, newest_ns: None, loop_place_ns: 0, loop_records: 0 })
    }

    /// Is the record captured at `record_ts_ns` due, when the clock says `now_ns`?
    ///
    /// `Now` counts the record as sent; go on with the next one. After `In`, ask again for the same record, at
    /// any time. The clock may start anywhere and counts nanoseconds.
    pub fn due(&mut self, record_ts_ns: u64, now_ns: u64) -> Due {
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        let place_ns = self.place(record_ts_ns);
        let due_ns = start_ns.saturating_add(self.scaled(place_ns));
        if due_ns > now_ns && self.speed != Speed::TopSpeed {
            return Due::In(due_ns - now_ns);
        }
        self.sent(record_ts_ns, place_ns);
        Due::Now
    }

    /// The records start over: the next one follows the last one at the mean gap of the loop just sent.
    ///
    /// The mean gap of a loop of one record is 0; a loop without a record changes nothing.
    pub fn next_loop(&mut self) {
        let gaps = self.loop_records.saturating_sub(1);
        let mean_ns = (self.place_ns - self.loop_place_ns).checked_div(gaps).unwrap_or(0);
        self.place_ns = self.place_ns.saturating_add(mean_ns);
        (self.loop_place_ns, self.loop_records, self.newest_ns) = (self.place_ns, 0, None);
    }

    /// Where a record stands in capture time since the start; never before the last one sent.
    fn place(&self, record_ts_ns: u64) -> u64 {
        let gap_ns = self.newest_ns.map_or(0, |newest_ns| record_ts_ns.saturating_sub(newest_ns));
        self.place_ns.saturating_add(gap_ns)
    }

    /// Capture time to clock time.
    fn scaled(&self, place_ns: u64) -> u64 {
        match self.speed {
            Speed::CaptureTimes => place_ns,
            // Exact to the nanosecond up to 2^53 ns (104 days); the cast saturates.
            Speed::Multiple(factor) => (place_ns as f64 / factor) as u64,
            Speed::TopSpeed => 0,
        }
    }

    fn sent(&mut self, record_ts_ns: u64, place_ns: u64) {
        self.place_ns = place_ns;
        self.loop_records += 1;
        self.newest_ns = match self.newest_ns {
            Some(newest_ns) if newest_ns.saturating_sub(record_ts_ns) <= CLOCK_STEP_NS => {
                Some(newest_ns.max(record_ts_ns))
            }
            _ => Some(record_ts_ns),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: u64 = 1_700_000_000_000_000_000;

    /// When an ideal sender sends each record, the clock starting at `now`.
    fn replay(pacer: &mut Pacer, times: &[u64], mut now: u64) -> Vec<u64> {
        let send = |&ts| {
            if let Due::In(wait) = pacer.due(ts, now) {
                now += wait;
                assert_eq!(pacer.due(ts, now), Due::Now, "due after the wait it asked for");
            }
            now
        };
        times.iter().map(send).collect()
    }

    fn pacer(speed: Speed) -> Pacer {
        Pacer::new(speed).unwrap()
    }

    #[test]
    fn capture_times_are_kept() {
        let times = [EPOCH, EPOCH + 10, EPOCH + 10, EPOCH + 35];
        assert_eq!(replay(&mut pacer(Speed::CaptureTimes), &times, 1000), [1000, 1010, 1010, 1035]);
    }

    #[test]
    fn multiples_divide_the_gaps() {
        let times = [EPOCH, EPOCH + 10, EPOCH + 30];
        assert_eq!(replay(&mut pacer(Speed::Multiple(2.0)), &times, 0), [0, 5, 15]);
        assert_eq!(replay(&mut pacer(Speed::Multiple(0.5)), &times, 0), [0, 20, 60]);
    }

    #[test]
    fn top_speed_never_waits() {
        let mut pacer = pacer(Speed::TopSpeed);
        assert_eq!(replay(&mut pacer, &[EPOCH, u64::MAX, 0], 5), [5, 5, 5]);
        pacer.next_loop();
        assert_eq!(pacer.due(EPOCH, 0), Due::Now);
    }

    #[test]
    fn lateness_does_not_add_up() {
        let mut pacer = pacer(Speed::CaptureTimes);
        for i in 0..1000 {
            assert_eq!(pacer.due(EPOCH + i * 100, i * 100 + 60), Due::Now, "record {i}, 60 ns late");
        }
        assert_eq!(pacer.due(EPOCH + 100_000, 100_000), Due::In(60), "still on the grid of the first record");
    }

    #[test]
    fn thirds_of_a_nanosecond_do_not_add_up() {
        let times: Vec<u64> = (0..=30_000).map(|i| EPOCH + i).collect();
        assert_eq!(replay(&mut pacer(Speed::Multiple(3.0)), &times, 0).last(), Some(&10_000));
    }

    #[test]
    fn reordered_records_do_not_shift_the_rest() {
        let times = [EPOCH, EPOCH + 100, EPOCH + 90, EPOCH + 110];
        assert_eq!(replay(&mut pacer(Speed::CaptureTimes), &times, 0), [0, 100, 100, 110]);
    }

    #[test]
    fn a_clock_set_back_costs_one_gap() {
        let hour = 3_600_000_000_000;
        let times = [EPOCH, EPOCH + 100, EPOCH - hour, EPOCH - hour + 100];
        assert_eq!(replay(&mut pacer(Speed::CaptureTimes), &times, 0), [0, 100, 100, 200]);
    }

    #[test]
    fn loops_follow_at_the_mean_gap() {
        let mut pacer = pacer(Speed::CaptureTimes);
        let times = [EPOCH, EPOCH + 10, EPOCH + 40];
        assert_eq!(replay(&mut pacer, &times, 0), [0, 10, 40]);
        pacer.next_loop();
        assert_eq!(replay(&mut pacer, &times, 40), [60, 70, 100]);
        pacer.next_loop();
        assert_eq!(replay(&mut pacer, &times, 100), [120, 130, 160]);
    }

    #[test]
    fn loops_of_one_record_or_none() {
        let mut pacer = pacer(Speed::CaptureTimes);
        pacer.next_loop();
        assert_eq!(replay(&mut pacer, &[EPOCH], 7), [7]);
        pacer.next_loop();
        pacer.next_loop();
        assert_eq!(replay(&mut pacer, &[EPOCH], 7), [7]);
    }

    #[test]
    fn huge_gaps_saturate() {
        let mut slow = pacer(Speed::Multiple(1e-300));
        assert_eq!(slow.due(0, 10), Due::Now);
        assert_eq!(slow.due(1, 10), Due::In(u64::MAX - 10));
        let mut pacer = pacer(Speed::CaptureTimes);
        assert_eq!(pacer.due(0, 0), Due::Now);
        for _ in 0..3 {
            assert_eq!(pacer.due(u64::MAX, u64::MAX), Due::Now);
            pacer.next_loop();
            assert_eq!(pacer.due(0, u64::MAX), Due::Now);
        }
    }

    #[test]
    fn speeds_that_make_no_sense_are_refused() {
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                matches!(Pacer::new(Speed::Multiple(factor)), Err(PcapError::BadSpeed { .. })),
                "{factor}"
            );
        }
        let error = Pacer::new(Speed::Multiple(0.0)).unwrap_err();
        assert_eq!(error.to_string(), "replay speed 0 is not a positive number; 1.0 keeps the capture times");
    }
}
