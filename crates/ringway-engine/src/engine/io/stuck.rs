//! Threads that keep frames for too long: who they are, and that their flows go elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use ringway::time::monotonic_ns;

use super::worker::Worker;

impl Worker {
    /// The first I/O thread that has not ended says who keeps frames for too long, and has their flows go elsewhere.
    pub(super) fn look_for_stuck(&mut self) {
        let shared = &*self.shared;
        let (now, patience) = (monotonic_ns(), shared.choices.patience);
        let often = (patience / 4).as_nanos().min(100_000_000) as u64;
        let is_first = shared.io[..self.me].iter().all(|io| io.ended.load(Acquire));
        if !is_first || now.saturating_sub(self.looked_for_stuck_ns) < often {
            return;
        }
        self.looked_for_stuck_ns = now;
        let waits = |receiver| shared.has_frames(Some(receiver));
        shared.holders.newly_stuck(now, patience, waits, |at, holder| {
            shared.stuck.fetch_add(1, Relaxed);
            shared.leave(at);
            if let Some(warn) = &shared.choices.warn {
                // Ports need this thread, so a panic ends here. The panic hook has said why.
                let _ = catch_unwind(AssertUnwindSafe(|| warn(holder)));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::super::burst::Burst;
    use super::*;
    use crate::{Engine, Signals};

    #[test]
    fn another_thread_looks_when_the_first_one_ended() {
        let builder = Engine::builder().port("loop:").port("loop:").io_threads(2);
        let (shared, mut workers, _) = builder.patience(Duration::from_millis(5)).parts().unwrap();
        let (mut second, first) = (workers.pop().unwrap(), workers.pop());
        drop(first);
        let mut stuck = Burst::new(&shared).unwrap();
        stuck.make(60).unwrap();
        let (signals, start) = (Signals::new(), Instant::now());
        std::thread::scope(|scope| {
            let _stop = signals.guard();
            scope.spawn(|| second.run(&signals));
            while shared.stuck.load(Relaxed) == 0 {
                assert!(start.elapsed() < Duration::from_secs(20), "nobody looks");
                std::thread::yield_now();
            }
        });
    }
}
