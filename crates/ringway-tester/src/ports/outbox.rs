//! Frames that a receiving loop hands to the sending loop of its port.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use ringway::{Result, TxRing};

/// Most frames that wait to be sent as answers; further ones are forgotten, as askers ask again.
const MOST_ANSWERS: usize = 64;

/// Frames that a receiving loop wants to be sent on its port.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    any: AtomicBool,
    frames: Mutex<Vec<Vec<u8>>>,
}

impl Outbox {
    pub(crate) fn put(&self, frame: Vec<u8>) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if frames.len() < MOST_ANSWERS {
            frames.push(frame);
            self.any.store(true, Relaxed);
        }
    }

    /// Sends what waits, if anything does.
    pub(crate) fn flush(&self, ring: &mut TxRing) -> Result<()> {
        if !self.any.swap(false, Relaxed) {
            return Ok(());
        }
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        for frame in frames.drain(..) {
            // One that finds no room is asked for again.
            let _ = ring.push(&frame);
        }
        ring.sync().map(drop)
    }
}
