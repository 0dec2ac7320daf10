//! The receiving side of a port.

use std::sync::Arc;
use std::time::Duration;

use ringway::{Filter, Port, Result, RxRing, Waiter, Wakeable};

use crate::frames::{Frames, Pool};

/// How long a wait polls before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// What a look at the rings found.
pub(crate) enum Found {
    /// Frames, one at least.
    Frames(Frames),
    /// No frame that the filter wants, yet.
    Nothing,
    /// No frame will ever come.
    End,
    /// Frames wait in the rings, and no buffer is free to take their places.
    NoBuffer,
}

/// The rings of received frames, and what is needed to take frames out of them.
pub(crate) struct Receiver {
    port: Port,
    waiter: Waiter,
    filter: Option<Filter>,
    pool: Arc<Pool>,
    /// Whether the port has buffers to exchange: frames are copied otherwise.
    exchanges: bool,
    /// The ring that the next burst begins with.
    turn: usize,
}

impl Receiver {
    /// The receiving side of a port, with `hold` buffers for frames that the program holds.
    pub(crate) fn new(port: Port, hold: u32, filter: Option<Filter>) -> Result<Self> {
        let pool = Arc::new(Pool::of(port.region(), hold));
        let exchanges = pool.free() > 0;
        Ok(Self { port, waiter: Waiter::new(SPIN)?, filter, pool, exchanges, turn: 0 })
    }

    /// Whether frames lie in the buffers that they were received in.
    pub(crate) fn exchanges(&self) -> bool {
        self.exchanges
    }

    /// Up to `most` frames; waits for them for `timeout` at most.
    pub(crate) fn receive(&mut self, most: usize, timeout: Duration) -> Result<Found> {
        match self.collect(most) {
            Found::Nothing => {}
            found => return Ok(found),
        }
        // Asked before the rings are looked at: what came before the end is in them.
        let ended = self.port.ended();
        let mut rings: Vec<&mut dyn Wakeable> = self.port.rx.iter_mut().map(|rx| rx as _).collect();
        self.waiter.wait(&mut rings, if ended { Duration::ZERO } else { timeout })?;
        Ok(match self.collect(most) {
            Found::Nothing if ended && self.is_empty() => Found::End,
            found => found,
        })
    }

    fn is_empty(&mut self) -> bool {
        self.port.rx.iter_mut().all(|rx| rx.avail() == 0)
    }

    /// What is in the rings, without a look at the other side.
    fn collect(&mut self, most: usize) -> Found {
        let mut frames = Frames::new(self.pool.clone());
        let mut spare = Vec::new();
        let mut short = false;
        let rings = self.port.rx.len();
        for k in 0..rings {
            let rx = &mut self.port.rx[(self.turn + k) % rings];
            if self.exchanges {
                let wanted = (rx.avail() as usize).min(most - frames.len());
                let more = wanted.saturating_sub(spare.len());
                self.pool.take(&mut spare, more);
            }
            short |= take(rx, most, self.filter.as_ref(), &mut frames, self.exchanges.then_some(&mut spare));
        }
        self.turn = (self.turn + 1) % rings.max(1);
        self.pool.give(spare);
        match frames.len() {
            0 if short => Found::NoBuffer,
            0 => Found::Nothing,
            _ => Found::Frames(frames),
        }
    }
}

/// Takes frames that the filter wants until there are `most`. Returns whether it ended for want of a spare buffer.
fn take(
    rx: &mut RxRing,
    most: usize,
    filter: Option<&Filter>,
    frames: &mut Frames,
    mut spare: Option<&mut Vec<ringway::Buf>>,
) -> bool {
    let time = i64::try_from(rx.timestamp().as_nanos()).unwrap_or(i64::MAX);
    let mut burst = rx.burst(u32::MAX);
    while frames.len() < most {
        // Looked at before a frame is taken: a frame that is taken leaves the ring.
        if spare.as_ref().is_some_and(|s| s.is_empty()) {
            drop(burst);
            return rx.avail() > 0;
        }
        let Some(frame) = burst.next() else { break };
        if filter.is_some_and(|f| !f.matches(frame.bytes())) {
            continue;
        }
        let buf = spare.as_mut().and_then(|s| s.pop());
        let back = frames.keep(frame, buf, time);
        if let (Some(spare), Some(back)) = (&mut spare, back) {
            spare.push(back);
        }
    }
    false
}
