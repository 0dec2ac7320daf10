//! A bridge between two ports that works while a test does something.

use std::thread;

use ringway_engine::{Bridge, Signals};

/// Runs `job` while a thread forwards between the two ports.
pub(crate) fn bridged<T>(bridge: &mut Bridge, job: impl FnOnce() -> T) -> T {
    let signals = Signals::new();
    thread::scope(|s| {
        let runner = s.spawn(|| bridge.run(&signals));
        // Stops the thread also when the job panics.
        struct Stop<'a>(&'a Signals);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        let stop = Stop(&signals);
        let result = job();
        drop(stop);
        runner.join().unwrap().unwrap();
        result
    })
}
