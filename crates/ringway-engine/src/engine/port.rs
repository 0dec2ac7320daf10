//! What threads and the I/O thread of a port share: its queue, its counters, its failure.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, OnceLock};

use ringway::{CounterWatch, DropReason, Error, Result};

use super::bell::Bell;
use super::counts::{Drops, PortCounts};
use super::locks::{lock, try_lock};
use super::token::Token;
use crate::queue::Queue;

#[derive(Debug)]
pub(super) struct PortState {
    pub(super) name: String,
    /// The I/O thread that owns its rings.
    pub(super) io: usize,
    /// Frames to send.
    pub(super) queue: Queue<Token>,
    /// Of those who wait for room in the queue.
    pub(super) room: Bell,
    pub(super) watch: CounterWatch,
    pub(super) received: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) rx_drops: Drops,
    /// Frames that threads put into the queue.
    pub(super) accepted: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) tx_drops: Drops,
    failed: AtomicBool,
    failures: AtomicU64,
    /// Why it failed for good.
    gone: OnceLock<Error>,
    /// The last failure that may pass.
    pub(super) passing: Mutex<Option<Error>>,
    ended: AtomicBool,
}

impl PortState {
    pub(super) fn new(name: &str, io: usize, queue: Queue<Token>, watch: CounterWatch) -> Result<Self> {
        let zero = || AtomicU64::new(0);
        Ok(Self {
            name: name.to_owned(),
            io,
            queue,
            room: Bell::new()?,
            watch,
            received: zero(),
            delivered: zero(),
            rx_drops: Drops::none(),
            accepted: zero(),
            sent: zero(),
            tx_drops: Drops::none(),
            failed: AtomicBool::new(false),
            failures: zero(),
            gone: OnceLock::new(),
            passing: Mutex::default(),
            ended: AtomicBool::new(false),
        })
    }

    /// Whether it failed for good.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Acquire)
    }

    /// The last failure.
    pub(super) fn error(&self) -> Option<Error> {
        let passing = lock(&self.passing);
        let again = |e: &Error| Error::new(e.kind(), &self.name, e.brief());
        let last = self.gone.get().or(passing.as_ref());
        last.map(|e| e.remedy().map_or_else(|| again(e), |cure| again(e).cure(cure)))
    }

    /// Its I/O thread says that it failed. When it fails for good again, the first reason stays.
    pub(super) fn note_failure(&self, error: Error, for_good: bool) {
        self.failures.fetch_add(1, Relaxed);
        if for_good {
            let _ = self.gone.set(error);
            self.failed.store(true, Release);
            self.room.ring_always();
        } else if let Some(mut passing) = try_lock(&self.passing) {
            *passing = Some(error);
        } // else a thread reads it now, and the next failure is soon
    }

    /// It will receive nothing more, and all that it received was delivered.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    pub(super) fn note_end(&self) {
        self.ended.store(true, Release);
    }

    pub(super) fn drop_received(&self, why: DropReason, frames: usize) {
        self.rx_drops.add(why, frames as u64);
    }

    pub(super) fn drop_sent(&self, why: DropReason, frames: usize) {
        self.tx_drops.add(why, frames as u64);
    }

    pub(super) fn counts(&self) -> PortCounts {
        let [received, delivered, accepted, sent] =
            [&self.received, &self.delivered, &self.accepted, &self.sent].map(|n| n.load(Relaxed));
        PortCounts {
            name: self.name.clone(),
            rx: self.rx_drops.counters(received, delivered),
            tx: self.tx_drops.counters(accepted, sent),
            failures: self.failures.load(Relaxed),
        }
    }
}
