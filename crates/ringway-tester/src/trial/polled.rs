//! Devices of this process that work when the tester polls them.

use std::fmt;
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ringway::Result;
use ringway_engine::Signals;
use serde::{Deserialize, Serialize};

/// A device that moves what waits at its ports when it is polled, and nothing otherwise.
pub trait Polled: fmt::Debug + Send {
    /// Takes what has come in and sends what is to leave; returns how many frames it worked on.
    ///
    /// # Errors
    /// When a port is gone.
    fn poll(&mut self) -> Result<u64>;
}

/// What a device in a thread of its own did in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Frames that it worked on.
    pub frames: u64,
    /// CPU time of its thread in turns that had frames, nanoseconds; 0 in lock step, where it has none. It does not grow while others have
    /// the CPU.
    pub busy_ns: u64,
}

impl Work {
    /// The most that the device could do with a CPU of its own, frames a second; nothing where no time was taken.
    #[must_use]
    pub fn limit_fps(&self) -> Option<f64> {
        (self.busy_ns > 0).then(|| self.frames as f64 * 1e9 / self.busy_ns as f64)
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.busy_ns += other.busy_ns;
    }
}

/// Turns without a frame after which a device sleeps where CPUs are short, and for how long: the tester's threads do not.
const IDLE_TURNS: u32 = 64;
const NAP: Duration = Duration::from_micros(20);

/// Polls `device`, if there is one, in a thread beside the `threads` of `job`, until that is done.
///
/// # Errors
/// The error of the job, else of the device.
pub(crate) fn beside<T>(
    device: Option<&mut (dyn Polled + '_)>,
    threads: usize,
    cpu: Option<usize>,
    job: impl FnOnce() -> Result<T>,
) -> Result<(T, Option<Work>)> {
    let Some(device) = device else { return Ok((job()?, None)) };
    let crowded = thread::available_parallelism().is_ok_and(|cpus| cpus.get() <= threads);
    let signals = Signals::new();
    let (worked, done) =
        ringway_engine::beside(&signals, "device", cpu, || work(device, crowded, &signals), job);
    Ok((done?, Some(worked.map_err(|e| e.error)?)))
}

fn work(device: &mut dyn Polled, crowded: bool, signals: &Signals) -> Result<Work> {
    let (mut work, mut idle) = (Work::default(), 0);
    let mut before = thread_ns();
    while !signals.stopped() {
        let frames = device.poll()?;
        let now = thread_ns();
        if frames > 0 {
            work += Work { frames, busy_ns: now.saturating_sub(before) };
            idle = 0;
        } else if crowded && idle >= IDLE_TURNS {
            thread::sleep(NAP);
        } else {
            idle += 1;
            std::hint::spin_loop();
        }
        before = now;
    }
    Ok(work)
}

/// CPU time of this thread.
fn thread_ns() -> u64 {
    // The clock exists since Linux 2.6.12.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use ringway::{Error, ErrorKind};

    /// Works on a frame in every other turn, and fails after so many.
    #[derive(Debug)]
    struct Worker(u64);

    /// Whether a worker has failed.
    static TIRED: AtomicBool = AtomicBool::new(false);

    impl Polled for Worker {
        fn poll(&mut self) -> Result<u64> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| {
                TIRED.store(true, Relaxed);
                Error::new(ErrorKind::Gone, "worker", "tired")
            })?;
            Ok(self.0 % 2)
        }
    }

    #[test]
    fn turns_with_frames_count() {
        let mut worker = Worker(u64::MAX);
        let ((), work) = beside(Some(&mut worker), 1, None, || {
            thread::sleep(Duration::from_millis(5));
            Ok(())
        })
        .unwrap();
        let work = work.unwrap();
        assert_eq!(work.frames, (u64::MAX - worker.0) / 2);
        assert!(work.frames == 0 || work.limit_fps().is_some());
        assert_eq!(Work::default().limit_fps(), None);
        assert_eq!(beside(None, 1, None, || Ok(3)).unwrap(), (3, None));
    }

    #[test]
    fn a_device_that_fails_is_told() {
        let failed = beside(Some(&mut Worker(10)), 1, None, || {
            while !TIRED.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        assert!(failed.unwrap_err().to_string().contains("tired"));
    }
}
