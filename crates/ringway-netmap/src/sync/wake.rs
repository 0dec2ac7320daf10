//! Sleepers. One leaves a wish in the ledger or in its port, then looks again; who publishes looks for a wish afterwards.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use ringway_sys::fd::{drain_bell, ring_bell};

use super::sleepers::Sleepers;
use super::{IN, OUT, Sleep};
use crate::bound::Bound;
use crate::forks::forks;
use crate::ledger::RingRecord;
use crate::plan::{RingPlan, Service};

/// How long a sleeper sleeps whose wake-up another process may hear in its place.
const SHARED_NAP: Duration = Duration::from_millis(10);

/// How long any sleeper sleeps before it looks for itself. Two threads that wait for frames of one ring have one wish.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// Wakes who sleeps, once.
#[inline]
pub(super) fn ring_if(wish: &AtomicU32, bell: &OwnedFd) {
    fence(Ordering::SeqCst);
    if wish.load(Relaxed) != 0 && wish.swap(0, Relaxed) != 0 {
        ring_bell(bell.as_fd());
    }
}

impl Bound {
    /// Takes in what the bells said.
    #[inline]
    pub(super) fn hear(&self) {
        if self.armed.load(Relaxed) && self.sleepers.count() == 0 {
            self.armed.store(false, Relaxed);
            // Those behind wake the other end of a pipe.
            let own = self.bells.len().div_ceil(2);
            self.bells[..own].iter().for_each(|bell| drain_bell(bell.as_fd()));
            if self.sleepers.count() > 0 {
                // One fell asleep meanwhile, and may have been woken.
                self.armed.store(true, Relaxed);
                self.bells[..own].iter().for_each(|bell| ring_bell(bell.as_fd()));
            }
        }
    }

    /// Asks to be woken when one of the events comes. True: look again at once.
    pub(crate) fn arm(&self, events: i16, sleep: &mut Sleep) -> bool {
        sleep.asleep.push(Sleepers::enter(&self.sleepers));
        sleep.at_most(LONGEST_NAP);
        let mut found = false;
        if events & IN != 0 {
            found |= self.plan.rx.iter().any(|ring| self.arm_rx(ring, sleep));
        }
        if events & OUT != 0 {
            found |= self.plan.tx.iter().any(|ring| self.arm_tx(ring, sleep));
        }
        if forks() > 0 || self.is_shared() {
            sleep.at_most(SHARED_NAP);
        }
        found
    }

    /// Whether another descriptor is bound to a ring of this one.
    fn is_shared(&self) -> bool {
        let ledger = &self.region().ledger;
        let mine = ledger.binding(self.index()).facts().rings;
        ledger.bindings().any(|b| b.index != self.index() && b.facts().rings.meets(&mine))
    }

    fn arm_rx(&self, plan: &RingPlan, sleep: &mut Sleep) -> bool {
        match plan.service {
            Service::Served { served, ring } => self.arm_served_rx(&self.record(plan), (served, ring), sleep),
            Service::Gather(sources) => self.arm_gathered(plan, sources, sleep),
            Service::Pipe { own_bell, .. } => self.arm_filled(plan, own_bell, sleep),
            Service::Monitor { own_bell, served } => {
                if served.is_some() {
                    sleep.at_most(SHARED_NAP); // frames that nobody collects ring no bell of a monitor
                }
                self.arm_filled(plan, own_bell, sleep)
            }
            Service::Alone => false,
        }
    }

    pub(super) fn arm_served_rx(
        &self,
        record: &RingRecord<'_>,
        (served, k): (u32, u32),
        sleep: &mut Sleep,
    ) -> bool {
        let Some(mut held) = record.lock() else { return true };
        let Some(local) = self.served[served as usize].rx(k as usize, &mut held) else { return false };
        local.catch_up(record);
        sleep.fds.push(local.ring.as_fd().as_raw_fd());
        // The program may want more than it has: it set cur ahead of head.
        local.ring.arm_for_more().unwrap_or(true)
    }

    fn arm_filled(&self, plan: &RingPlan, bell: u32, sleep: &mut Sleep) -> bool {
        let (record, words) = (self.record(plan), self.words(plan));
        self.sleep_on(bell, sleep);
        record.reader_wish().store(1, Relaxed);
        fence(Ordering::SeqCst);
        record.produced() != words.tail()
    }

    fn arm_tx(&self, plan: &RingPlan, sleep: &mut Sleep) -> bool {
        match plan.service {
            Service::Served { served, ring } => {
                let record = self.record(plan);
                let Some(mut held) = record.lock() else { return true };
                let Some(local) = self.served[served as usize].tx(ring as usize, &mut held) else {
                    return false;
                };
                local.catch_up(&record);
                sleep.fds.push(local.ring.as_fd().as_raw_fd());
                local.ring.arm_for_more().unwrap_or(true)
            }
            Service::Pipe { peer, own_bell, .. } => {
                self.sleep_on(own_bell, sleep);
                self.region().ledger.ring(peer).writer_wish().store(1, Relaxed);
                fence(Ordering::SeqCst);
                self.pipe_has_room(plan, peer)
            }
            Service::Monitor { .. } | Service::Gather(_) => false,
            Service::Alone => false, // a look frees all there is to free
        }
    }

    fn sleep_on(&self, bell: u32, sleep: &mut Sleep) {
        if let Some(bell) = self.bells.get(bell as usize) {
            self.armed.store(true, Relaxed);
            sleep.fds.push(bell.as_raw_fd());
        }
    }
}
