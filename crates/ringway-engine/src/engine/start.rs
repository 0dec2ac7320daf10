//! Starting the I/O threads: all of them run, or none does.

use std::sync::{Arc, mpsc};

use ringway::{Port, Result};

use super::handle::Engine;
use super::io::Worker;
use super::shared::Shared;
use crate::{Background, Cpus, Signals, Turns};

/// The I/O threads, each with its part of the ports.
pub(super) fn workers(shared: &Arc<Shared>, ports: Vec<Port>, turns: Turns) -> Result<Vec<Worker>> {
    let mut dealt: Vec<Vec<_>> = shared.io.iter().map(|_| Vec::new()).collect();
    for (at, port) in ports.into_iter().enumerate() {
        dealt[shared.ports[at].io].push((at, port));
    }
    dealt.into_iter().enumerate().map(|(me, ports)| Worker::new(shared, me, ports, turns)).collect()
}

/// Starts the I/O threads, and waits until each of them runs.
///
/// # Errors
/// A thread can't start, or not on its CPU. The others have ended then.
pub(super) fn start(shared: &Arc<Shared>, workers: Vec<Worker>, cpus: &Cpus) -> Result<Engine> {
    let (runs, running) = mpsc::channel();
    let begin = |(me, mut worker): (usize, Worker)| {
        let runs = runs.clone();
        let work = move |signals: &Signals| {
            let _ = runs.send(()); // somebody waits for it
            drop(runs);
            worker.run(signals)
        };
        Background::start(&format!("engine-io-{me}"), cpus.of(me), work)
    };
    let io: Vec<_> = workers.into_iter().enumerate().map(begin).collect();
    drop(runs);
    // It ends when each thread has said that it runs, or is gone.
    let all = running.iter().count() == io.len();
    let engine = Engine::new(shared.clone(), io);
    if all {
        return Ok(engine);
    }
    let Err(failed) = engine.end() else { unreachable!("a thread that did not run says why") };
    Err(failed.error)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Acquire;

    use super::*;

    #[test]
    fn no_thread_is_left_when_one_can_not_start() {
        let (shared, workers, _) =
            Engine::builder().port("loop:").port("loop:").io_threads(2).parts().unwrap();
        let error = start(&shared, workers, &Cpus(vec![0, 1023])).unwrap_err();
        assert!(error.to_string().starts_with("cpu 1023: ") && error.remedy().is_some(), "{error}");
        assert!(shared.io.iter().all(|io| io.ended.load(Acquire)));
        assert_eq!(Arc::strong_count(&shared), 1, "nobody has the engine");
    }
}
