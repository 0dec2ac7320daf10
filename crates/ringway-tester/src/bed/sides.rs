//! The two sides of a direction over ports.

use std::sync::Arc;

use ringway::{Result, TxRing};

use crate::ports::management::Back;
use crate::ports::neighbour::Side;
use crate::ports::outbox::Outbox;
use crate::ports::rings::{ReceiveRings, SendRing};
use crate::trial::frames::Frames;
use crate::trial::ledger::Ledger;
use crate::trial::port::{Clock, RxPort, Train, TxPort};

/// Sends test frames on a ring.
#[derive(Debug)]
pub(crate) struct RealTx {
    pub(super) ring: SendRing,
    pub(super) frames: Frames,
    /// What comes in where frames leave; a port that also receives a stream has none.
    pub(super) back: Option<Back>,
    pub(super) outbox: Arc<Outbox>,
}

impl TxPort for RealTx {
    fn send(&mut self, train: &Train<'_>) -> Result<u64> {
        if let Some(back) = &mut self.back {
            back.turn(train.leaves_ps(0), &self.outbox)?;
        }
        self.outbox.flush(self.ring.ring())?;
        let frames = &mut self.frames;
        self.ring.send(train, |buf, frame| frames.write(buf, frame.seq, frame.now_ns, frame.size))
    }

    fn ahead_ps(&self) -> u64 {
        self.ring.ahead_ps()
    }

    fn pending(&mut self) -> Result<u64> {
        self.ring.pending()
    }
}

/// Receives test frames from the rings of a port.
#[derive(Debug)]
pub(crate) struct RealRx<C> {
    pub(super) rings: ReceiveRings<C>,
    /// Sends answers, unless a [`RealTx`] has the ring.
    pub(super) replies: Option<TxRing>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) side: Side,
    pub(super) stream: u16,
    /// The port sends to itself: what does not fit stays with the sender, and shows there.
    pub(super) own: bool,
}

impl<C: Clock> RxPort for RealRx<C> {
    fn poll(&mut self, _now_ps: u64, ledger: &mut Ledger) -> Result<u64> {
        let (side, outbox, stream) = (self.side, &self.outbox, self.stream);
        let answer = |frame: &[u8]| side.answer(frame).into_iter().for_each(|answer| outbox.put(answer));
        let frames = self.rings.poll(ledger, |ledger| ledger.next(stream), answer)?;
        if let Some(ring) = &mut self.replies {
            outbox.flush(ring)?;
        }
        Ok(frames)
    }

    fn capacity(&self) -> u64 {
        if self.own { u64::MAX } else { self.rings.capacity() }
    }

    fn dropped(&self) -> u64 {
        self.rings.dropped()
    }
}
