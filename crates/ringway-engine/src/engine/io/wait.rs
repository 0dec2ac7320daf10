//! What an I/O thread waits for when there is nothing to do.

use ringway::{Result, Wakeable};

use super::flows::FlowOut;
use super::idle::{Idle, IoBell};
use super::worker::{Owned, Worker};
use crate::sleep::{NAP, PENDING_NAP};

impl Worker {
    /// Waits for frames, for room where frames wait for it, for frames to send, and for outboxes.
    pub(super) fn idle(&mut self) -> Result<bool> {
        let shared = &*self.shared;
        let held_back = self.ports.iter().any(|owned| owned.held_back);
        let moving = self.flows.as_ref().is_some_and(FlowOut::is_moving);
        let closed = self.flows.as_ref().is_some_and(|out| !out.is_open());
        if held_back {
            shared.want_room();
        }
        // No bell says that buffers came back, that flows may move, or that a tx ring got on with what it has.
        let mut nap =
            moving || (held_back && self.flows.is_some()) || self.ports.iter().any(|owned| owned.starved);
        let mut mine = 0;
        for owned in &mut self.ports {
            let tx = owned.port.tx.first_mut();
            let full = tx.is_some_and(|tx| {
                nap |= tx.pending() > 0 && tx.free() > 0;
                tx.free() == 0
            });
            mine |= u64::from(!full && owned.retry_ns == 0) << owned.at;
        }
        let Idle { sleeper, alarm, due } = &mut self.idle;
        let new_outboxes = due.is_none() && !shared.choices.gather.is_zero();
        let plan = self.flows.as_ref().map(FlowOut::seen);
        let mut bell = IoBell { shared, state: &shared.io[self.me], mine, held_back, new_outboxes, plan };
        alarm.set(due.unwrap_or(u64::MAX));
        let alarm = due.is_some().then_some(alarm as &mut dyn Wakeable);
        let works = |owned: &&mut Owned| owned.retry_ns == 0 && !shared.ports[owned.at].has_failed();
        let rings = self.ports.iter_mut().filter(works).flat_map(|owned| {
            let stays = closed || owned.held_back || owned.starved || shared.ports[owned.at].has_ended();
            let rx =
                owned.port.rx.iter_mut().filter_map(move |rx| (!stays).then_some(rx as &mut dyn Wakeable));
            let tx = owned.port.tx.iter_mut().take(1);
            rx.chain(tx.filter_map(|tx| (tx.free() == 0).then_some(tx as &mut dyn Wakeable)))
        });
        let rings = rings.chain(alarm).chain([&mut bell as &mut dyn Wakeable]);
        sleeper.wait(rings, if nap { PENDING_NAP } else { NAP })
    }
}
