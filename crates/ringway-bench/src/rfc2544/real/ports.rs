//! The two sides of a trial over rings.

use std::sync::Arc;

use ringway::{CounterWatch, Counters, DropReason, Result, RxRing, TxRing, time::monotonic_ns};

use super::super::format::FCS;
use super::super::frame::{Kind, age_ps, classify};
use super::super::frames::Frames;
use super::super::ledger::Ledger;
use super::super::port::{Clock, RxPort, Train, TxPort};
use super::super::schedule::BURST;
use super::management::Back;
use super::neighbour::Side;
use super::outbox::Outbox;

/// How long frames in a ring may take to leave when all are written.
const DRAIN_NS: u64 = 50_000_000;

/// Frames that a port lost by itself; those of a `fault:` port are the device's.
pub(crate) fn own_drops(counters: &Counters) -> u64 {
    counters.dropped() - counters.drops(DropReason::Injected)
}

/// Frames in a ring that nobody takes, and those that its port itself dropped after the first `lost_before`.
pub(crate) fn held(ring: &mut TxRing, counters: &CounterWatch, lost_before: u64) -> Result<u64> {
    let start = monotonic_ns();
    while ring.pending() > 0 && monotonic_ns() - start < DRAIN_NS {
        ring.sync()?;
    }
    let lost = own_drops(&counters.counters().tx) - lost_before;
    Ok(u64::from(ring.pending()) + lost)
}

/// Sends test frames on a ring.
#[derive(Debug)]
pub struct RealTx {
    pub(super) ring: TxRing,
    pub(super) frames: Frames,
    /// What comes in where frames leave; a port that also receives a stream has none.
    pub(super) back: Option<Back>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) counters: CounterWatch,
    /// How far ahead of time frames are written: more than nothing under a virtual clock only.
    pub(super) ahead_ps: u64,
    /// Frames that the port had lost before the trial.
    pub(super) lost_before: u64,
    /// Where a frame longer than a buffer is written first.
    pub(super) long: Vec<u8>,
}

impl TxPort for RealTx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        if let Some(back) = &mut self.back {
            back.turn(train.leaves_ps(0), &self.outbox)?;
        }
        self.outbox.flush(&mut self.ring)?;
        let mut burst = self.ring.burst();
        let mut sent = 0;
        while sent < train.count {
            let (seq, size) = (train.first + sent, train.size(sent));
            let now_ns = train.leaves_ps(sent) / 1000;
            let len = (size - FCS) as usize;
            if len > self.long.len() {
                let Some(mut slot) = burst.next_slot() else { break };
                let len = self.frames.write(slot.buf(), seq, now_ns, size);
                slot.send(len);
            } else {
                let len = self.frames.write(&mut self.long, seq, now_ns, size);
                if !burst.push(&self.long[..len]) {
                    break;
                }
            }
            sent += 1;
        }
        burst.commit();
        self.ring.sync()?;
        // So many are likely to follow, and their buffers are in the caches of who reads.
        self.ring.fetch(train.count as u32);
        Ok(sent)
    }

    fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }

    /// Frames in the ring that nobody takes, and those that the port itself dropped.
    fn pending(&mut self) -> Result<u64> {
        held(&mut self.ring, &self.counters, self.lost_before)
    }
}

/// Receives test frames from the rings of a port.
#[derive(Debug)]
pub struct RealRx<C> {
    pub(super) rings: Vec<RxRing>,
    /// Sends answers, unless a [`RealTx`] has the ring.
    pub(super) replies: Option<TxRing>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) side: Side,
    pub(super) clock: C,
    pub(super) counters: CounterWatch,
    pub(super) stream: u16,
    /// Under a virtual clock a frame has no age.
    pub(super) ageless: bool,
    pub(super) slots_per_frame: u32,
    /// The port sends to itself: what does not fit stays with the sender, and shows there.
    pub(super) own: bool,
}

impl<C: Clock> RxPort for RealRx<C> {
    fn poll(&mut self, _now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        let mut frames = 0;
        for ring in &mut self.rings {
            if ring.sync()? == 0 {
                continue;
            }
            let now = self.clock.now_ps();
            ring.fetch(BURST as u32);
            for frame in ring.burst(u32::MAX) {
                frames += 1;
                let mut whole = Vec::new();
                let bytes = if frame.is_chained() {
                    whole.resize(frame.len(), 0);
                    frame.copy_to(&mut whole);
                    &whole[..]
                } else {
                    frame.bytes()
                };
                match classify(bytes, ledger.next(self.stream)) {
                    Kind::Test { stream, seq, time_ns } => {
                        let age = if self.ageless { 0 } else { age_ps(now / 1000, time_ns) };
                        ledger.frame(stream, seq, now, age);
                    }
                    Kind::Corrupted => ledger.corrupted(),
                    Kind::Foreign => {
                        ledger.foreign();
                        if let Some(answer) = self.side.answer(bytes) {
                            self.outbox.put(answer);
                        }
                    }
                }
            }
        }
        if let Some(ring) = &mut self.replies {
            self.outbox.flush(ring)?;
        }
        Ok(frames)
    }

    fn capacity(&self) -> u64 {
        if self.own {
            return u64::MAX;
        }
        // One flow may have one ring only.
        let slots = self.rings.iter().map(|ring| ring.slots() - 1).min().unwrap_or(0);
        u64::from(slots / self.slots_per_frame.max(1))
    }

    fn dropped(&self) -> u64 {
        own_drops(&self.counters.counters().rx)
    }
}
