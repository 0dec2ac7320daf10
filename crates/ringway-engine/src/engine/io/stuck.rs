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
        shared.holders.newly_stuck(
            now,
            patience,
            waits,
            |at| shared.try_leave(at),
            |holder| {
                shared.stuck.fetch_add(1, Relaxed);
                if let Some(warn) = &shared.choices.warn {
                    // Ports need this thread, so a panic ends here. The panic hook has said why.
                    let _ = catch_unwind(AssertUnwindSafe(|| warn(holder)));
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use ringway::{Error, ErrorKind};

    use super::super::super::burst::Burst;
    use super::super::super::lanes::{Delivery, Way};
    use super::super::super::locks::lock;
    use super::*;
    use crate::{Engine, Signals};

    const LIMIT: Duration = Duration::from_secs(20);

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
                assert!(start.elapsed() < LIMIT, "nobody looks");
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn a_thread_that_is_stopped_with_a_lock_stops_no_io_thread() {
        let builder = Engine::builder().port("loop:").delivery(Delivery::Flows);
        let (shared, mut workers, _) = builder.patience(Duration::from_nanos(1)).parts().unwrap();
        let (Way::Flows(flows), worker) = (&shared.way, &mut workers[0]) else { panic!("flows are pinned") };
        let mut stuck = Burst::new(&shared).unwrap();
        stuck.join_receivers().unwrap();
        stuck.make(60).unwrap();
        let (done, is_done) = mpsc::channel();
        std::thread::scope(|scope| {
            let row = shared.holders.row(stuck.at);
            let stopped = (flows.plan(), lock(&row.thread), lock(&shared.ports[0].passing));
            scope.spawn(|| {
                worker.may_deliver();
                worker.look_for_stuck();
                worker.fail(0, Error::new(ErrorKind::LinkDown, "loop:", "the link is down"));
                done.send(shared.stuck.load(Relaxed)).unwrap();
            });
            assert_eq!(is_done.recv_timeout(LIMIT), Ok(0), "it waits for a lock");
            drop(stopped);
        });
        workers[0].look_for_stuck();
        assert_eq!(shared.stuck.load(Relaxed), 1, "later it can");
    }
}
