//! Our router in a process: a thread on CPU 1, over ports on the links.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use ringway_router::user::{Options, Router, Side, Watch};

use super::plan::{EGRESS, INGRESS};
use super::router::Router as Measured;
use super::world::Place;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use ringway_engine::affinity::pin;
use ringway_lab::LabError;

/// A router at work; it ends when this is dropped.
pub(super) struct UserRouter {
    stop: Arc<AtomicBool>,
    forwarder: Option<JoinHandle<Result<(), Fault>>>,
    watch: Watch,
}

impl UserRouter {
    /// Opens the ports, fills the tables, and forwards.
    pub(super) fn start(place: &Place) -> Result<Self, Fault> {
        let stop = Arc::new(AtomicBool::new(false));
        let (opened, ready) = mpsc::channel();
        let until = stop.clone();
        let forward = move || {
            pin(receiver())?;
            let sides = [INGRESS, EGRESS[0], EGRESS[1]].map(|link| link.router.parse::<Side>());
            let sides = sides.into_iter().collect::<Result<_, _>>()?;
            let mut router = Router::open(&Options::new(sides))?;
            let _ = opened.send(router.watch());
            Ok(router.run(&until)?)
        };
        // A thread begins in the namespace of the one that made it.
        let forwarder = place.router.run(|| Ok::<_, LabError>(thread::spawn(forward)))?;
        match ready.recv() {
            Ok(watch) => Ok(Self { stop, forwarder: Some(forwarder), watch }),
            Err(_) => {
                Err(joined(forwarder).err().unwrap_or_else(|| Fault::Failed("the router has ended".into())))
            }
        }
    }
}

impl Measured for UserRouter {
    /// What found a ring full, went to the host or was dropped. What egress interfaces did not take, their links count.
    fn lost(&mut self) -> Result<u64, Fault> {
        let of = |position| {
            let counts = self.watch.counts(position);
            let [wire, _] = self.watch.ports(position);
            counts.frames_in - counts.forwarded + counts.device_full + wire.rx.dropped()
        };
        Ok((0..self.watch.sides().len()).map(of).sum())
    }
}

impl Drop for UserRouter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(forwarder) = self.forwarder.take() {
            let _ = joined(forwarder); // what arrived has been measured
        }
    }
}

fn joined(forwarder: JoinHandle<Result<(), Fault>>) -> Result<(), Fault> {
    forwarder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
