//! Rings of a port as the two sides of a trial: trains of frames go out, and what came in is entered into the books.

use ringway::{CounterWatch, Counters, DropReason, Result, RxRing, TxRing, time::monotonic_ns};

use crate::trial::format::FCS;
use crate::trial::frame::{Kind, age_ps, classify};
use crate::trial::ledger::Ledger;
use crate::trial::port::{Clock, Train};
use crate::trial::rate::SECOND;
use crate::trial::schedule::BURST;

/// How long frames in a ring may take to leave when all are written.
const DRAIN_NS: u64 = 50_000_000;

/// Syncs in which old frames are taken out of a ring at most: an endless source is never empty.
const DRAINS: u32 = 64;

/// Frames that a port lost by itself; the drops of a `fault:` port are the device's.
fn own_drops(counters: &Counters) -> u64 {
    counters.dropped() - counters.drops(DropReason::Injected)
}

/// One frame of a train, as it is to be written.
#[derive(Clone, Copy, Debug)]
pub struct TrainFrame {
    /// Its number in the stream.
    pub seq: u64,
    /// When it leaves, nanoseconds.
    pub now_ns: u64,
    /// Bytes, FCS included.
    pub size: u32,
}

/// The ring of a port that frames leave by.
#[derive(Debug)]
pub struct SendRing {
    ring: TxRing,
    counters: CounterWatch,
    /// How far ahead of time frames are written: more than nothing under a virtual clock only.
    ahead_ps: u64,
    /// Frames that the port had lost before the trial.
    lost_before: u64,
    /// Where a frame longer than a buffer is written first.
    long: Vec<u8>,
}

impl SendRing {
    /// A ring of the port with these counters.
    #[must_use]
    pub fn new(ring: TxRing, counters: CounterWatch) -> Self {
        Self { ring, counters, ahead_ps: 0, lost_before: 0, long: Vec::new() }
    }

    /// A trial begins, with frames of at most `longest` bytes, FCS included, in buffers of `buf_size`.
    pub fn begin(&mut self, longest: u32, buf_size: u32) {
        self.lost_before = own_drops(&self.counters.counters().tx);
        let longest = longest - FCS;
        self.long.resize(if longest > buf_size { longest as usize } else { 0 }, 0);
    }

    /// Under a virtual clock: writes frames ahead that come at `rate` a second, half of the `room` of their receiver at most.
    pub fn write_ahead(&mut self, room: u64, rate: f64) {
        let burst = BURST.min(room / 2).max(1);
        self.ahead_ps = ((burst as f64 / rate * SECOND as f64) as u64).max(1);
    }

    /// Sends the frames of a train that there is room for, and returns how many. `write` writes one, and returns its length.
    ///
    /// # Errors
    /// When the port is gone.
    #[inline]
    pub fn send(
        &mut self,
        train: &Train<'_>,
        mut write: impl FnMut(&mut [u8], TrainFrame) -> usize,
    ) -> Result<u64> {
        let mut burst = self.ring.burst();
        let mut sent = 0;
        while sent < train.count {
            let seq = train.first + sent;
            let frame = TrainFrame { seq, now_ns: train.leaves_ps(sent) / 1000, size: train.size(sent) };
            if self.long.is_empty() {
                let Some(mut slot) = burst.next_slot() else { break };
                let len = write(slot.buf(), frame);
                slot.send(len);
            } else {
                let len = write(&mut self.long, frame);
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

    /// How far ahead of time frames are written.
    #[must_use]
    pub fn ahead_ps(&self) -> u64 {
        self.ahead_ps
    }

    /// Frames in the ring that nobody takes, and frames that the port itself dropped in this trial.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn pending(&mut self) -> Result<u64> {
        let start = monotonic_ns();
        while self.ring.pending() > 0 && monotonic_ns() - start < DRAIN_NS {
            self.ring.sync()?;
        }
        let lost = own_drops(&self.counters.counters().tx) - self.lost_before;
        Ok(u64::from(self.ring.pending()) + lost)
    }

    /// The ring, for frames beside the trains.
    pub fn ring(&mut self) -> &mut TxRing {
        &mut self.ring
    }
}

/// The rings of a port that frames come in by.
#[derive(Debug)]
pub struct ReceiveRings<C> {
    rings: Vec<RxRing>,
    counters: CounterWatch,
    clock: C,
    /// Under a virtual clock a frame has no age.
    ageless: bool,
    slots_per_frame: u32,
}

impl<C: Clock> ReceiveRings<C> {
    /// Rings of the port with these counters; under a virtual clock frames are `ageless`.
    #[must_use]
    pub fn new(rings: Vec<RxRing>, counters: CounterWatch, clock: C, ageless: bool) -> Self {
        Self { rings, counters, clock, ageless, slots_per_frame: 1 }
    }

    /// A trial begins, with frames of at most `longest` bytes, FCS included, in buffers of `buf_size`; what lies in the rings belongs to
    /// none.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn begin(&mut self, longest: u32, buf_size: u32) -> Result<()> {
        self.slots_per_frame = (longest - FCS).div_ceil(buf_size);
        for ring in &mut self.rings {
            for _ in 0..DRAINS {
                if ring.sync()? == 0 {
                    break;
                }
                ring.burst(u32::MAX).for_each(drop);
            }
        }
        Ok(())
    }

    /// Enters what arrived, and returns how many frames. `hint` is about the number of the next test frame, and `foreign` gets the
    /// frames that are none.
    ///
    /// # Errors
    /// When the port is gone.
    #[inline]
    pub fn poll(
        &mut self,
        ledger: &mut Ledger,
        hint: impl Fn(&Ledger) -> u64,
        mut foreign: impl FnMut(&[u8]),
    ) -> Result<u64> {
        let mut frames = 0;
        let mut whole = Vec::new();
        for ring in &mut self.rings {
            if ring.sync()? == 0 {
                continue;
            }
            let now = self.clock.now_ps();
            ring.fetch(BURST as u32);
            for frame in ring.burst(u32::MAX) {
                frames += 1;
                let bytes = if frame.is_chained() {
                    whole.resize(frame.len(), 0);
                    frame.copy_to(&mut whole);
                    &whole[..]
                } else {
                    frame.bytes()
                };
                match classify(bytes, hint(ledger)) {
                    Kind::Test { stream, seq, time_ns } => {
                        let age = if self.ageless { 0 } else { age_ps(now / 1000, time_ns) };
                        ledger.frame(stream, seq, now, age);
                    }
                    Kind::Corrupted => ledger.corrupted(),
                    Kind::Foreign => {
                        ledger.foreign();
                        foreign(bytes);
                    }
                }
            }
        }
        Ok(frames)
    }

    /// Frames of the trial that the rings hold.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        // One flow may have one ring only.
        let slots = self.rings.iter().map(|ring| ring.slots() - 1).min().unwrap_or(0);
        u64::from(slots / self.slots_per_frame.max(1))
    }

    /// Frames that the port itself has lost since it was opened.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        own_drops(&self.counters.counters().rx)
    }
}
