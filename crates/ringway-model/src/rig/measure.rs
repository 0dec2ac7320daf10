//! One run of a point.

use std::time::Duration;

use ringway::time::monotonic_ns;
use ringway_engine::{Check, Progress, Receiver, Signals, crew};
use ringway_tester::Fault;

use super::bed::{Bed, Worker};
use super::frames::Frames;
use super::generate::generate;
use super::priority;
use super::tally::Tally;
use crate::fit::median;
use crate::sweep::{Point, Run};
use crate::time::{ThreadTime, cpu_time, thread_time};

/// How long a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Before it counts: caches and tables fill.
    pub warm_up: Duration,
    /// That counts.
    pub counted: Duration,
}

/// Parts of a run that are looked at by themselves.
const SLICES: u32 = 20;

/// Packets that a part needs for a cost of its own.
const ENOUGH: u64 = 500;

/// Offers a point's load to a device and measures for a while. `None` when `stop` came before its end.
///
/// # Errors
/// When a port fails, or the thread that forwards is gone.
pub fn measure(bed: &mut Bed, point: &Point, length: Length, stop: &Signals) -> Result<Option<Run>, Fault> {
    bed.announce()?;
    let frames = Frames::new(point, bed.ends());
    let (tally, taken, signals) = (Tally::default(), Progress::new(), Signals::new());
    let (generator, device) = match bed.worker {
        Worker::Threads(_) => (bed.cpus.generator, None),
        Worker::Generator => (bed.cpus.device, Some(bed.cpus.generator)),
    };
    let thread = Tally::default();
    // What the sampling loop needs while the ports are lent to the threads.
    let Bed { tx, rx, .. } = bed;
    let (mut tx, mut rx) = (tx.tx.split_off(0), rx.as_mut().map(|port| port.rx.split_off(0)));
    let result = crew(&signals, |crew| {
        let sending = crew.start("generator", Some(generator), || {
            priority::raise_generator();
            thread.add(nix::unistd::gettid().as_raw() as u64);
            generate(&mut tx[0], point, &frames, &tally, &signals)
        });
        let receiving = rx.as_mut().map(|rings| {
            let mut receiver = Receiver::new(u64::MAX).with_check(Check::Never);
            let (taken, signals) = (&taken, &signals);
            crew.start("receiver", device, move || receiver.run(rings, taken, signals))
        });
        let watch = Watch { bed, tally: &tally, taken: &taken, thread: &thread };
        let run = watch.run(length, stop, &signals);
        signals.stop();
        let ended = sending.join().map_err(|e| Fault::Failed(e.to_string()));
        let drained = receiving.map(|r| r.join().map_err(|e| Fault::Failed(e.to_string())));
        ended?;
        drained.transpose()?;
        run
    });
    bed.tx.tx = tx;
    if let (Some(port), Some(rings)) = (&mut bed.rx, rx) {
        port.rx = rings;
    }
    result
}

/// What is read while a load is on.
struct Watch<'a> {
    bed: &'a mut Bed,
    tally: &'a Tally,
    taken: &'a Progress,
    /// Number of the generator's thread.
    thread: &'a Tally,
}

/// All counts at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    at_ns: u64,
    offered: u64,
    passed: u64,
    time: ThreadTime,
}

impl Watch<'_> {
    /// Waits for the warm-up, then reads all counts at the end of each part.
    fn run(mut self, length: Length, stop: &Signals, signals: &Signals) -> Result<Option<Run>, Fault> {
        let over = |signals: &Signals| stop.stopped() || signals.stopped();
        rest(length.warm_up, &over, signals);
        let steal = cpu_time(&self.cpus()).steal_ns;
        let mut readings = vec![self.read()?];
        for _ in 0..SLICES {
            rest(length.counted / SLICES, &over, signals);
            if over(signals) {
                return Ok(None);
            }
            readings.push(self.read()?);
        }
        let steal_ns = cpu_time(&self.cpus()).steal_ns.saturating_sub(steal);
        Ok(Some(Run { steal_ns, ..summary(&readings) }))
    }

    fn cpus(&self) -> [u32; 2] {
        [self.bed.cpus.generator as u32, self.bed.cpus.device as u32]
    }

    fn read(&mut self) -> Result<Reading, Fault> {
        let threads = match &self.bed.worker {
            Worker::Threads(threads) => threads.clone(),
            Worker::Generator => vec![self.thread.get() as i32],
        };
        let mut time = ThreadTime::default();
        for thread in threads {
            let of = thread_time(thread);
            let gone = || Fault::Failed(format!("the device's thread {thread} is gone"));
            time = time.plus(&of.ok_or_else(gone)?);
        }
        let passed = self.bed.counted()?.unwrap_or_else(|| self.taken.packets());
        Ok(Reading { at_ns: monotonic_ns(), offered: self.tally.get(), passed, time })
    }
}

fn rest(period: Duration, over: &impl Fn(&Signals) -> bool, signals: &Signals) {
    let end = monotonic_ns() + period.as_nanos() as u64;
    while !over(signals) {
        let left = Duration::from_nanos(end.saturating_sub(monotonic_ns()));
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

/// A run of its readings.
fn summary(readings: &[Reading]) -> Run {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Run::default() };
    let parts =
        || readings.windows(2).map(|w| (w[1].passed - w[0].passed, w[1].time.since(&w[0].time).run_ns));
    let costs: Vec<f64> = parts().filter(|p| p.0 >= ENOUGH).map(|(n, ns)| ns as f64 / n as f64).collect();
    let time = last.time.since(&first.time);
    let slices = readings.len() as u32 - 1;
    // A median of few parts is none.
    let middle_ns = if costs.len() as u32 * 2 > slices { median(costs).unwrap_or(0.0) } else { 0.0 };
    Run {
        seconds: (last.at_ns - first.at_ns) as f64 / 1e9,
        offered: last.offered - first.offered,
        passed: last.passed - first.passed,
        run_ns: time.run_ns,
        wait_ns: time.wait_ns,
        wakes: time.voluntary,
        slices,
        stalls: parts().filter(|p| p.0 == 0).count() as u32,
        middle_ns,
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_what_came_between_its_readings() {
        let reading = |at: u64, passed: u64| Reading {
            at_ns: at * 1_000_000,
            offered: 2 * passed,
            passed,
            time: ThreadTime { run_ns: passed * 900, wait_ns: 5 * at, voluntary: at, forced: 0 },
        };
        let run = summary(&[reading(10, 0), reading(20, 1000), reading(30, 1000), reading(40, 3000)]);
        assert_eq!((run.seconds, run.offered, run.passed, run.run_ns), (0.03, 6000, 3000, 2_700_000));
        assert_eq!((run.wakes, run.slices, run.stalls, run.middle_ns), (30, 3, 1, 900.0));
        assert_eq!(summary(&[]), Run::default());
        let few = summary(&[reading(10, 0), reading(20, 100), reading(30, 200)]);
        assert_eq!(few.middle_ns, 0.0);
    }
}
