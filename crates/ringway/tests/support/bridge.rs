//! Two ports that a thread forwards between while a test does something.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ringway::{Pairing, Port, RxRing, TxRing, Waiter, Wakeable, forward};

/// What a thread forwards, ring by ring, both ways.
#[derive(Debug)]
pub(crate) struct Bridge {
    ports: [Port; 2],
    waiter: Waiter,
}

/// Ends the loop, also when the test panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Bridge {
    pub(crate) fn new(a: Port, b: Port) -> Self {
        Self { ports: [a, b], waiter: Waiter::new(Duration::ZERO).unwrap() }
    }

    pub(crate) fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// How frames go from the first port to the second one.
    pub(crate) fn pairing(&self) -> Pairing {
        let [a, b] = &self.ports;
        Pairing::of(&a.rx[0], &b.tx[0])
    }

    /// Runs `job` while a thread forwards; `prepare` runs in that thread first.
    pub(crate) fn during<T>(&mut self, prepare: impl FnOnce() + Send, job: impl FnOnce() -> T) -> T {
        let stopped = AtomicBool::new(false);
        thread::scope(|s| {
            let runner = s.spawn(|| {
                prepare();
                self.run(&stopped);
            });
            let stop = Stop(&stopped);
            let result = job();
            drop(stop);
            runner.join().unwrap();
            result
        })
    }

    /// Forwards until `stopped`.
    pub(crate) fn run(&mut self, stopped: &AtomicBool) {
        while !stopped.load(Relaxed) {
            let [a, b] = &mut self.ports;
            let moved = pass(&mut a.rx, &mut b.tx) + pass(&mut b.rx, &mut a.tx);
            if moved == 0 {
                self.sleep();
            }
        }
    }

    fn sleep(&mut self) {
        let waiting = self.ports.iter_mut().any(|p| p.tx.iter_mut().any(|tx| tx.pending() > 0));
        let time = Duration::from_millis(if waiting { 1 } else { 10 });
        let rings = self.ports.iter_mut().flat_map(|p| &mut p.rx);
        let mut rings: Vec<_> = rings.map(|rx| rx as &mut dyn Wakeable).collect();
        self.waiter.wait(&mut rings, time).unwrap();
    }
}

/// A burst of each ring; how many slots moved. A frame for which there is no room stays.
fn pass(rx: &mut [RxRing], tx: &mut [TxRing]) -> u32 {
    let (mut moved, n) = (0, tx.len());
    for (i, rx) in rx.iter_mut().enumerate() {
        let tx = &mut tx[i % n];
        rx.sync().unwrap();
        moved += forward(rx, tx, 1024);
        if tx.pending() > 0 {
            tx.sync().unwrap();
        }
    }
    moved
}
