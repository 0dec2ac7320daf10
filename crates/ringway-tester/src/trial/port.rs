//! What a trial needs of the world: a clock, a side that sends and a side that receives.
//!
//! Real ports, ports driven in lock step and modelled devices implement these; the trial is the same for all.

use ringway::Result;

use super::ledger::Ledger;
use super::schedule::Schedule;

/// Time.
pub trait Clock {
    /// Picoseconds of a clock that never goes back.
    fn now_ps(&self) -> u64;
}

/// Consecutive frames of one stream that are to leave now, or on schedule.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    /// Stream.
    pub stream: u16,
    /// Number of the first frame.
    pub first: u64,
    /// Frames.
    pub count: u64,
    /// The schedule, and the first frame's place in it.
    pub schedule: &'a Schedule,
    /// Place of the first frame in the schedule.
    pub place: u64,
    /// When the schedule started.
    pub start_ps: u64,
    /// When the frames leave; `None` when each leaves at its due time.
    pub now_ps: Option<u64>,
}

impl Train<'_> {
    /// When the `k`th frame leaves.
    #[must_use]
    pub fn leaves_ps(&self, k: u64) -> u64 {
        self.now_ps.unwrap_or_else(|| self.start_ps + self.schedule.due_ps(self.place + k))
    }

    /// Size of the `k`th frame, FCS included.
    #[must_use]
    pub fn size(&self, k: u64) -> u32 {
        self.schedule.mix().size(self.place + k)
    }
}

/// A side that sends.
pub trait TxPort {
    /// Takes frames of the train, from its first on; returns how many.
    ///
    /// # Errors
    /// When the port is gone or refuses.
    fn send(&mut self, train: &Train<'_>) -> Result<u64>;

    /// How long before they are due frames may be handed over, because the port lets each go at its time by itself.
    /// Zero for ports that send at once.
    fn ahead_ps(&self) -> u64 {
        0
    }

    /// Frames taken by [`send`](Self::send) that have not left.
    ///
    /// # Errors
    /// When the port is gone.
    fn pending(&mut self) -> Result<u64> {
        Ok(0)
    }
}

/// A side that receives.
pub trait RxPort {
    /// Enters what arrived until now; returns how many frames.
    ///
    /// # Errors
    /// When the port is gone.
    fn poll(&mut self, now_ps: u64, ledger: &mut Ledger) -> Result<u64>;

    /// Frames that the port holds while nobody polls; beyond that it loses some.
    fn capacity(&self) -> u64 {
        u64::MAX
    }

    /// Frames that the port itself has lost since it was opened: a fault of the tester.
    fn dropped(&self) -> u64 {
        0
    }
}
