//! Our router in a process: a thread on CPU 1, over ports on the links.

use std::sync::mpsc;

use ringway_router::user::{Options, Router, Side, Watch};

use super::plan::{EGRESS, INGRESS};
use super::router::Router as Measured;
use super::world::Place;
use crate::suite::Fault;
use crate::suite::bed::receiver;
use ringway_engine::{Background, Signals};
use ringway_lab::LabError;

/// A router at work; it ends when this is dropped.
pub(super) struct UserRouter {
    _forwarder: Background<(), Fault>,
    watch: Watch,
}

impl UserRouter {
    /// Opens the ports, fills the tables, and forwards.
    pub(super) fn start(place: &Place) -> Result<Self, Fault> {
        let (opened, ready) = mpsc::channel();
        let forward = move |signals: &Signals| {
            let sides = [INGRESS, EGRESS[0], EGRESS[1]].map(|link| link.router.parse::<Side>());
            let sides = sides.into_iter().collect::<Result<_, _>>()?;
            let mut router = Router::open(&Options::new(sides))?;
            let _ = opened.send(router.watch());
            Ok(router.run(signals)?)
        };
        let start = || Ok::<_, LabError>(Background::start("router", Some(receiver()), forward));
        // A thread begins in the namespace of the one that made it.
        let forwarder = place.router.run(start)?;
        match ready.recv() {
            Ok(watch) => Ok(Self { _forwarder: forwarder, watch }),
            Err(_) => Err(forwarder
                .end()
                .map_or_else(|e| e.error, |()| Fault::Failed("the router has ended".into()))),
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
