//! Receiving.

use ringway_abi::Slot;
use ringway_abi::layout::NS_PORT_SHIFT;
use ringway_count::DropReason;

use super::Skipped;
use super::counts::Passed;
use super::forward::NR_FORWARD;
use super::header::prepend;
use super::monitor::{Seen, open_monitors_of};
use crate::bound::Bound;
use crate::ledger::{Held, RegionKind, RingRecord};
use crate::plan::{RingPlan, Service};
use crate::ring_words::RingWords;

impl Bound {
    /// Gives the slots before head back, and collects what came.
    #[inline]
    pub(super) fn rx(&self, ring: &RingPlan) -> Result<(), Skipped> {
        self.open_monitors(ring);
        match ring.service {
            Service::Served { served, ring: k } => self.rx_served(ring, served, k),
            Service::Pipe { peer_bell, .. } => self.rx_filled(ring, Some(peer_bell)),
            Service::Monitor { served, .. } => {
                if let Some((served, k)) = served {
                    self.collect(served, k)?;
                }
                self.rx_filled(ring, None)
            }
            Service::Gather(sources) => self.rx_gathered(ring, sources),
            Service::Alone => self.rx_filled(ring, None),
        }
    }

    #[inline]
    fn rx_served(&self, plan: &RingPlan, served: u32, k: u32) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        if words.flags() & NR_FORWARD != 0 {
            self.open_crossing(served as usize);
        }
        let mut held = record.lock().ok_or(Skipped::Failed)?;
        let local = self.served[served as usize].rx(k as usize, &mut held).ok_or(Skipped::Failed)?;
        local.catch_up(&record);
        let before = record.range();
        let Some(head) = words.advance(before) else {
            local.ring.reset_cursors(); // counts it
            words.reset(before);
            return Err(Skipped::Reset);
        };
        if words.flags() & NR_FORWARD != 0 {
            let lost = self.forward_marked(served as usize, &words, (before.0, head));
            lost.into_iter().for_each(|why| local.ring.lose(why));
        }
        let monitored = record.is_monitored();
        if monitored {
            self.show(&record, &words, (before.0, head), Seen::Consumed { sent: false });
        }
        record.set_range(head, before.1); // the slots before are the port's, whenever this process is killed
        let synced = local.ring.sync();
        let after = (local.ring.first(), local.ring.tail());
        record.set_range(after.0, after.1);
        local.generation = record.count_sync();
        let unfit = self.dress(served, &words, (before.1, after.1));
        (0..unfit).for_each(|_| local.ring.lose(DropReason::TooLong));
        if monitored {
            self.show(&record, &words, (before.1, after.1), Seen::Arrived);
        }
        synced.map(drop).map_err(|e| self.failed(&e))
    }

    /// Gives frames that came by a switch what netmap's have: the number of fragments, and headers. Returns how many frames have no room
    /// for that.
    #[inline]
    fn dress(&self, served: u32, words: &RingWords<'_>, span: (u32, u32)) -> u32 {
        let region = &self.served[served as usize].region;
        if region.ledger.kind != RegionKind::SwitchPort {
            return 0;
        }
        count_fragments(words, span);
        match self.header(served) {
            0 => 0,
            header => prepend(region, words, span, header),
        }
    }

    /// Shows a monitor what came to the ring that it looks at, before the ring's reader takes it.
    fn collect(&self, plan_served: u32, k: u32) -> Result<(), Skipped> {
        let served = &self.served[plan_served as usize];
        let port = served.region.ledger.port(served.index);
        let Some(number) = port.rx().nth(k as usize) else { return Ok(()) };
        let record = served.region.ledger.ring(number);
        open_monitors_of(&record);
        let mut held = record.lock().ok_or(Skipped::Failed)?;
        let local = served.rx(k as usize, &mut held).ok_or(Skipped::Failed)?;
        local.catch_up(&record);
        let before = record.range();
        let synced = local.ring.collect();
        let after = (local.ring.first(), local.ring.tail());
        record.set_range(after.0, after.1);
        local.generation = record.count_sync();
        let words = served.region.ring(number, record.slots());
        let unfit = self.dress(plan_served, &words, (before.1, after.1));
        (0..unfit).for_each(|_| local.ring.lose(DropReason::TooLong));
        self.show_in(&served.region, &record, &words, (before.1, after.1), Seen::Arrived);
        synced.map(drop).map_err(|e| self.failed(&e))
    }

    /// A ring that others fill: a pipe's, a monitor's.
    #[inline]
    fn rx_filled(&self, plan: &RingPlan, peer_bell: Option<u32>) -> Result<(), Skipped> {
        let (record, words) = (self.record(plan), self.words(plan));
        let held = record.lock().ok_or(Skipped::Failed)?;
        if held.stolen {
            self.mend(plan, &held);
        }
        let before = record.range();
        let Some(head) = words.advance(before) else {
            self.count_reset(plan);
            words.reset(before);
            return Err(Skipped::Reset);
        };
        if record.is_monitored() {
            self.show(&record, &words, (before.0, head), Seen::Consumed { sent: false });
        }
        if let Service::Pipe { peer, .. } = plan.service {
            self.show_passed(peer, &words, (before.0, head));
        }
        let tail = record.produced();
        record.set_range(head, tail);
        record.count_sync();
        words.set_tail(tail);
        words.stamp();
        let passed = Passed::of(&words, (before.1, tail));
        self.count_received(plan, &passed, record.take_missed(), words.dist(head, tail));
        if head != before.0 {
            self.wake_writer(&record, peer_bell);
        }
        Ok(())
    }

    /// Puts a ring right whose writer was killed.
    #[cold]
    fn mend(&self, plan: &RingPlan, held: &Held<'_>) {
        debug_assert!(held.stolen);
        if let Service::Pipe { peer, .. } = plan.service {
            self.mend_pipe(peer, plan.number, plan.slots);
        }
    }

    #[inline]
    fn wake_writer(&self, record: &RingRecord<'_>, bell: Option<u32>) {
        if let Some(bell) = bell.and_then(|b| self.bells.get(b as usize)) {
            super::wake::ring_if(record.writer_wish(), bell);
        }
    }
}

/// Writes into each slot of a frame of several how many there are.
#[inline]
fn count_fragments(words: &RingWords<'_>, (mut at, end): (u32, u32)) {
    while at != end {
        at = if words.slot(at).more() { count_chain(words, at, end) } else { words.next(at) };
    }
}

#[cold]
fn count_chain(words: &RingWords<'_>, first: u32, end: u32) -> u32 {
    let (mut after, mut count) = (first, 0);
    while after != end {
        let more = words.slot(after).more();
        (after, count) = (words.next(after), count + 1);
        if !more {
            break;
        }
    }
    let mut at = first;
    while at != after {
        let slot = words.slot(at);
        let flags = slot.flags & 0xff | (count as u16) << NS_PORT_SHIFT;
        words.set_slot(at, Slot { flags, ..slot });
        at = words.next(at);
    }
    after
}
