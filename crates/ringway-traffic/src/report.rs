//! A line per interval, as netmap's pkt-gen prints, and averages at the end.

use std::fmt;

use serde::Serialize;

use super::check::Counts;
use super::latency::LatencySummary;
use super::pace::WIRE_OVERHEAD;
use super::units::{bit_rate, many, scaled};

/// Counters of a running sender or receiver at one moment. All but `min_space` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When the counters were read, nanoseconds.
    pub time_ns: u64,
    /// Packets so far.
    pub packets: u64,
    /// Bytes so far, without FCS.
    pub bytes: u64,
    /// Bursts so far: iterations that moved at least one packet.
    pub bursts: u64,
    /// Fewest free slots of the ring since the last sample, if known.
    pub min_space: Option<u32>,
}

/// What happened between two [`Sample`]s. Displays as one line:
///
/// ```
/// use ringway_traffic::report::{Interval, Sample};
///
/// let start = Sample::default();
/// let end = Sample { time_ns: 1_000_123_000, packets: 14_880_000, bytes: 892_800_000, bursts: 29_062, min_space: Some(0) };
/// let line = Interval::between(&start, &end).to_string();
/// assert_eq!(line, "14.878 Mpps (14.880 Mpkts 7.142 Gbit/s in 1000123 usec) 512.01 avg_burst 0 min_space");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// Length, nanoseconds.
    pub elapsed_ns: u64,
    /// Packets moved.
    pub packets: u64,
    /// Bytes moved, without FCS.
    pub bytes: u64,
    /// Bursts they moved in.
    pub bursts: u64,
    /// Fewest free slots of the ring, if known.
    pub min_space: Option<u32>,
}

impl Interval {
    /// The difference of two samples; a counter that went back counts as zero.
    pub fn between(from: &Sample, to: &Sample) -> Self {
        Self {
            elapsed_ns: to.time_ns.saturating_sub(from.time_ns),
            packets: to.packets.saturating_sub(from.packets),
            bytes: to.bytes.saturating_sub(from.bytes),
            bursts: to.bursts.saturating_sub(from.bursts),
            min_space: to.min_space,
        }
    }

    /// Packets per second.
    pub fn pps(&self) -> f64 {
        ratio(self.packets as f64, self.seconds())
    }

    /// Bits per second, without FCS.
    pub fn bps(&self) -> f64 {
        ratio(8.0 * self.bytes as f64, self.seconds())
    }

    /// Bits per second on an Ethernet wire, with FCS, preamble and inter-frame gap.
    pub fn wire_bps(&self) -> f64 {
        self.bps() + 8.0 * WIRE_OVERHEAD as f64 * self.pps()
    }

    /// Packets per burst.
    pub fn avg_burst(&self) -> f64 {
        ratio(self.packets as f64, self.bursts as f64)
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pps, packets, bps) =
            (scaled(self.pps(), "pps"), scaled(self.packets as f64, "pkts"), bit_rate(self.bps()));
        let usec = self.elapsed_ns / 1000;
        write!(f, "{pps} ({packets} {bps} in {usec} usec) {:.2} avg_burst", self.avg_burst())?;
        self.min_space.map_or(Ok(()), |space| write!(f, " {space} min_space"))
    }
}

/// Collects samples of one direction and sums them up.
///
/// ```
/// use ringway_traffic::report::{Report, Sample};
///
/// let mut report = Report::new("tx", Sample::default());
/// let mut sample = Sample { time_ns: 1_000_000_000, packets: 1000, bytes: 60_000, bursts: 10, min_space: None };
/// println!("{}", report.tick(sample));
/// sample = Sample { time_ns: 1_500_000_000, packets: 1500, bytes: 90_000, bursts: 15, ..sample };
/// let summary = report.finish(sample);
/// assert_eq!((summary.packets, summary.pps), (1500, 1000.0));
/// println!("{summary}");
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    label: String,
    start: Sample,
    last: Sample,
    spread: Spread,
}

impl Report {
    /// Starts at `start`: for a receiver, take the sample when the first packet comes. `label` names the
    /// direction (`tx`, `rx`).
    pub fn new(label: impl Into<String>, start: Sample) -> Self {
        Self { label: label.into(), start, last: start, spread: Spread::default() }
    }

    /// Ends an interval and returns it, to be printed.
    pub fn tick(&mut self, sample: Sample) -> Interval {
        let interval = Interval::between(&self.last, &sample);
        self.last = sample;
        if interval.elapsed_ns > 0 {
            self.spread.add(interval.pps());
        }
        interval
    }

    /// Averages from the start to `end`. The unfinished interval counts in the averages, not in the spread.
    pub fn finish(&self, end: Sample) -> Summary {
        let total = Interval::between(&self.start, &end);
        Summary {
            label: self.label.clone(),
            packets: total.packets,
            bytes: total.bytes,
            bursts: total.bursts,
            seconds: total.seconds(),
            pps: total.pps(),
            bps: total.bps(),
            wire_bps: total.wire_bps(),
            avg_burst: total.avg_burst(),
            avg_length: ratio(total.bytes as f64, total.packets as f64),
            intervals: self.spread,
            sequence: None,
            latency: None,
        }
    }
}

/// Averages of a whole run; serialises for `--json` and displays as a block of text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Direction: `tx`, `rx`.
    pub label: String,
    /// Packets moved.
    pub packets: u64,
    /// Bytes moved, without FCS.
    pub bytes: u64,
    /// Bursts they moved in.
    pub bursts: u64,
    /// Length of the run.
    pub seconds: f64,
    /// Packets per second.
    pub pps: f64,
    /// Bits per second, without FCS.
    pub bps: f64,
    /// Bits per second with FCS, preamble and inter-frame gap.
    pub wire_bps: f64,
    /// Packets per burst.
    pub avg_burst: f64,
    /// Bytes per packet, without FCS.
    pub avg_length: f64,
    /// Packets per second of the full intervals.
    pub intervals: Spread,
    /// Result of the sequence check; filled in by a receiver that made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Counts>,
    /// Latencies; filled in by a run that measured them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySummary>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} of {:.1} bytes, {}, {} of {:.2}, in {:.3} s",
            self.label,
            many(self.packets, "packet"),
            self.avg_length,
            many(self.bytes, "byte"),
            many(self.bursts, "burst"),
            self.avg_burst,
            self.seconds,
        )?;
        write!(
            f,
            "average: {}, {} ({} with FCS, preamble and gap)",
            scaled(self.pps, "pps"),
            bit_rate(self.bps),
            bit_rate(self.wire_bps),
        )?;
        if self.intervals.count > 1 {
            write!(f, "\n{}", self.intervals)?;
        }
        if let Some(seen) = &self.sequence {
            write!(
                f,
                "\nsequence: {} lost, {} duplicated, {} reordered, {} stale, {} corrupted, {} foreign",
                seen.lost, seen.duplicated, seen.reordered, seen.stale, seen.corrupted, seen.foreign,
            )?;
        }
        self.latency.as_ref().map_or(Ok(()), |latency| write!(f, "\n{latency}"))
    }
}

/// Minimum, maximum, mean and standard deviation of packets per second over intervals, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Number of intervals.
    pub count: u64,
    /// Slowest interval.
    pub min_pps: f64,
    /// Fastest interval.
    pub max_pps: f64,
    /// Mean over intervals.
    pub mean_pps: f64,
    /// Standard deviation (of the sample; zero below two intervals).
    pub stdev_pps: f64,
    #[serde(skip)]
    squares: f64,
}

impl Spread {
    /// Adds an interval; Welford's method keeps the squares small.
    fn add(&mut self, pps: f64) {
        self.min_pps = if self.count == 0 { pps } else { self.min_pps.min(pps) };
        self.max_pps = self.max_pps.max(pps);
        self.count += 1;
        let delta = pps - self.mean_pps;
        self.mean_pps += delta / self.count as f64;
        self.squares += delta * (pps - self.mean_pps);
        self.stdev_pps = ratio(self.squares, self.count as f64 - 1.0).sqrt();
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pps = |value| scaled(value, "pps");
        let (min, mean, max) = (pps(self.min_pps), pps(self.mean_pps), pps(self.max_pps));
        write!(f, "{} intervals: {min} / {mean} / {max} min/mean/max, ", self.count)?;
        write!(f, "standard deviation {}", pps(self.stdev_pps))
    }
}

/// A quotient, zero when there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: u64, packets: u64) -> Sample {
        Sample {
            time_ns: seconds * 1_000_000_000,
            packets,
            bytes: 60 * packets,
            bursts: packets / 10,
            min_space: None,
        }
    }

    #[test]
    fn idle_and_empty_intervals() {
        let idle = Interval::between(&sample(0, 10), &sample(1, 10));
        assert_eq!(idle.to_string(), "0 pps (0 pkts 0 bit/s in 1000000 usec) 0.00 avg_burst");
        let backwards = Interval::between(&sample(2, 10), &sample(1, 5));
        assert_eq!((backwards.packets, backwards.pps()), (0, 0.0));
    }

    #[test]
    fn wire_rate_of_shortest_frames_is_the_line_rate() {
        let second = Interval::between(&sample(0, 0), &sample(1, 14_880_952));
        assert_eq!(bit_rate(second.wire_bps()), "10.000 Gbit/s");
    }

    #[test]
    fn summary_of_three_intervals_and_a_rest() {
        let mut report = Report::new("tx", sample(10, 100));
        for (time, packets) in [(11, 1100), (12, 3100), (13, 6100)] {
            report.tick(sample(time, packets));
        }
        let mut summary = report.finish(sample(14, 8100));
        assert_eq!((summary.packets, summary.seconds, summary.pps), (8000, 4.0, 2000.0));
        let spread = summary.intervals;
        assert_eq!((spread.count, spread.min_pps, spread.max_pps), (3, 1000.0, 3000.0));
        assert!((spread.mean_pps - 2000.0).abs() < 1e-9 && (spread.stdev_pps - 1000.0).abs() < 1e-9);
        summary.sequence = Some(Counts { lost: 3, ..Counts::default() });
        assert_eq!(
            summary.to_string(),
            "tx: 8000 packets of 60.0 bytes, 480000 bytes, 800 bursts of 10.00, in 4.000 s\n\
             average: 2.000 kpps, 960.000 kbit/s (1.344 Mbit/s with FCS, preamble and gap)\n\
             3 intervals: 1.000 kpps / 2.000 kpps / 3.000 kpps min/mean/max, standard deviation 1.000 kpps\n\
             sequence: 3 lost, 0 duplicated, 0 reordered, 0 stale, 0 corrupted, 0 foreign"
        );
    }

    #[test]
    fn one_packet_is_no_packets() {
        let summary =
            Report::new("tx", sample(0, 0)).finish(Sample { bursts: 1, ..sample(1, 1) }).to_string();
        assert!(
            summary.starts_with("tx: 1 packet of 60.0 bytes, 60 bytes, 1 burst of 1.00, in"),
            "{summary}"
        );
    }

    #[test]
    fn json_has_the_fields() {
        let json = serde_json::to_value(Report::new("rx", sample(0, 0)).finish(sample(1, 10))).unwrap();
        assert_eq!(json["packets"], 10);
        assert_eq!(json["wire_bps"], 10.0 * 84.0 * 8.0);
        assert_eq!(json["intervals"]["count"], 0);
        assert!(json.get("latency").is_none() && json["intervals"].get("squares").is_none());
    }
}
