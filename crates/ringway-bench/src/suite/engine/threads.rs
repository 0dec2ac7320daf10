//! Threads that do the same thing again and again, on two CPUs, and how often all of them did it.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use ringway_engine::{Signals, crew};

use crate::suite::bed::{SENDER, receiver};
use crate::suite::meter::WARM_UP;
use crate::suite::{Bed, Fault, Sample};

/// How often a thread that could do nothing looks again before it lets others run. The peers in C do the same.
const LOOKS: u32 = 64;

/// How soon a benchmark that is to end does so.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The CPUs of so many threads, which take turns on both.
pub(super) fn spread(threads: usize) -> Vec<usize> {
    (0..threads).map(on).collect()
}

/// The CPUs of so many threads that give, and as many that take: half of either kind on each CPU.
pub(super) fn pairs(pairs: usize) -> Vec<usize> {
    (0..pairs).chain(1..=pairs).map(on).collect()
}

fn on(thread: usize) -> usize {
    [SENDER, receiver()][thread % 2]
}

/// What one thread did, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

/// One of the threads.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    /// Its place among them.
    pub(super) at: usize,
    signals: &'a Signals,
    count: &'a Count,
}

impl Worker<'_> {
    /// Whether it is to end.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.signals.stopped()
    }

    /// Counts.
    #[inline]
    pub(super) fn add(&self, done: usize) {
        // Nobody else writes it.
        self.count.0.store(self.count.0.load(Relaxed) + done as u64, Relaxed);
    }

    /// Repeats a step until the end, and counts what it did. A step that could do nothing is tried again.
    #[inline]
    pub(super) fn repeat(&self, mut step: impl FnMut() -> Result<usize, Fault>) -> Result<(), Fault> {
        let mut looks = 0;
        while !self.is_over() {
            let done = step()?;
            self.add(done);
            if done > 0 {
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                spin_loop();
            } else {
                looks = 0;
                thread::yield_now();
            }
        }
        Ok(())
    }
}

/// What is wrong with a measurement in which no thread got on.
const NOTHING_COUNTED: &str = "nothing was counted";

/// What the threads did.
#[derive(Debug)]
pub(super) struct Counts<'a> {
    bed: Bed<'a>,
    signals: &'a Signals,
    counts: &'a [Count],
}

impl Counts<'_> {
    /// Millions a second that these threads did together, from the end of the warm-up on.
    fn rate(&self, of: Range<usize>) -> Result<Sample, Fault> {
        let sum = || self.counts[of.clone()].iter().map(|count| count.0.load(Relaxed)).sum::<u64>();
        self.rest(WARM_UP);
        let (start, before) = (Instant::now(), sum());
        self.rest(Duration::from_secs_f64(self.bed.seconds));
        let done = sum() - before;
        match done {
            0 => Err(Fault::Failed(NOTHING_COUNTED.into())),
            _ => Ok(Sample::of(done as f64 / start.elapsed().as_secs_f64() / 1e6)),
        }
    }

    /// Until a thread failed, or the benchmark is to end.
    fn rest(&self, period: Duration) {
        let start = Instant::now();
        while !self.signals.stopped() && !self.bed.signals.stopped() {
            match period.checked_sub(start.elapsed()) {
                Some(left) if !left.is_zero() => thread::sleep(left.min(LOOK_EVERY)),
                _ => return,
            }
        }
    }
}

/// Has a thread on each of these CPUs `work` as long as `job` takes here. The failure of a thread goes first: it is mostly the
/// cause of the other.
pub(super) fn during<R>(
    bed: Bed<'_>,
    cpus: &[usize],
    work: impl Fn(&Worker<'_>) -> Result<(), Fault> + Sync,
    job: impl FnOnce(&Counts<'_>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    let (signals, work) = (&Signals::new(), &work);
    let counts: &[Count] = &cpus.iter().map(|_| Count::default()).collect::<Vec<_>>();
    crew(signals, |crew| {
        let mut started = Vec::new();
        for (at, (count, &cpu)) in counts.iter().zip(cpus).enumerate() {
            let worker = Worker { at, signals, count };
            started.push(crew.start(format!("bench-{at}"), Some(cpu), move || work(&worker)));
        }
        let done = job(&Counts { bed, signals, counts });
        signals.stop();
        // All of them, so that no thread's failure is lost.
        let ended: Vec<_> = started.into_iter().map(|worker| worker.join()).collect();
        ended.into_iter().collect::<Result<(), _>>().map_err(|e| e.error)?;
        done
    })
}

/// Has a thread on each of these CPUs `work` for the time of a measurement. Returns millions of counts a second, of the threads at
/// these places.
pub(super) fn rate(
    bed: Bed<'_>,
    cpus: &[usize],
    of: Range<usize>,
    work: impl Fn(&Worker<'_>) -> Result<(), Fault> + Sync,
) -> Result<Sample, Fault> {
    during(bed, cpus, work, |counts| counts.rate(of))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ringway_lab::LabError;

    /// The rate that `measure` finds on a bed without links. A busy machine leaves threads no time in a short window, so it grows.
    pub(in crate::suite::engine) fn counted(measure: impl Fn(Bed<'_>) -> Result<Sample, Fault>) -> f64 {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let mut seconds = 0.05;
        loop {
            match measure(Bed::new(&lab, seconds, &signals)) {
                Err(Fault::Failed(why)) if why == NOTHING_COUNTED && seconds < 30.0 => seconds *= 4.0,
                sample => return sample.unwrap().value,
            }
        }
    }

    #[test]
    fn threads_take_turns_on_two_cpus() {
        let other = receiver();
        assert_eq!(spread(3), [SENDER, other, SENDER]);
        assert_eq!(pairs(1), [SENDER, other]);
        assert_eq!(pairs(2), [SENDER, other, other, SENDER]);
    }

    #[test]
    fn all_threads_count_and_a_failure_ends_them() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let bed = Bed::new(&lab, 0.01, &signals);
        let sample = rate(bed, &spread(3), 0..3, |worker| worker.repeat(|| Ok(1)));
        assert!(sample.unwrap().value > 0.0);
        let of_another = rate(bed, &spread(2), 0..1, |worker| worker.repeat(|| Ok(worker.at)));
        assert_eq!(of_another, Err(Fault::Failed(NOTHING_COUNTED.into())));
        let idle = rate(bed, &spread(1), 0..1, |worker| worker.repeat(|| Ok(0)));
        assert_eq!(idle, Err(Fault::Failed(NOTHING_COUNTED.into())));
        let long = Bed::new(&lab, 3600.0, &signals);
        let broken = rate(long, &spread(2), 0..1, |worker| {
            worker.repeat(|| if worker.at == 1 { Err(Fault::Failed("x".into())) } else { Ok(1) })
        });
        assert_eq!(broken, Err(Fault::Failed("x".into())));
    }
}
