//! What a ring sleeps on: the connection's own descriptors, the eventfd of the shared ring, and a timer.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use ringway_memif::Link;

use super::core::Core;
use super::interface::Interface;
use crate::error::{Error, Result};
use crate::sys::fd::{Epoll, Timer};
use crate::sys::foreign_bell::ForeignBell;

/// A receiver looks again after this time at the latest. A sender that publishes and looks for a sleeper without a barrier between, as
/// some do, may miss one.
const RESCUE_NS: u64 = 20_000_000;

/// A sender looks for room this often: the protocol has no interrupt for it.
const ROOM_NS: u64 = 100_000;

/// The parts that both directions have.
#[derive(Debug)]
struct Sleeper {
    poll: Epoll,
    timer: Timer,
    armed: bool,
}

impl Sleeper {
    fn new(core: &Core) -> Result<Self> {
        let io = |e| Error::io(core.name(), "making descriptors to wait on failed", e);
        let (poll, timer) = (Epoll::new().map_err(io)?, Timer::new().map_err(io)?);
        poll.add(core.control()).map_err(io)?;
        poll.add(timer.as_fd()).map_err(io)?;
        Ok(Self { poll, timer, armed: false })
    }

    fn arm(&mut self, core: &Core, ns: u64) -> Result<()> {
        self.armed = true;
        let ns = ns.min(core.next_ns());
        self.timer.set(Some(ns)).map_err(|e| Error::io(core.name(), "setting a timer failed", e))
    }

    fn disarm(&mut self) {
        self.armed = false;
        // A timer that can't be stopped wakes once in vain.
        let _ = self.timer.set(None);
    }
}

/// Wakes a receiver.
#[derive(Debug)]
pub(super) struct RxWaker {
    sleeper: Sleeper,
    bell: Option<Arc<ForeignBell>>,
}

impl RxWaker {
    pub(super) fn new(core: &Core) -> Result<Self> {
        Ok(Self { sleeper: Sleeper::new(core)?, bell: None })
    }

    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.sleeper.armed
    }

    /// Asks the peer for interrupts. The caller looks at the ring afterwards.
    pub(super) fn arm(&mut self, core: &Core, link: Option<&Link>, index: usize) -> Result<()> {
        let ring = link.and_then(|link| link.rx(index));
        let bell = ring.map(|ring| &ring.bell);
        if bell.map(Arc::as_ptr) != self.bell.as_ref().map(Arc::as_ptr) {
            if let Some(old) = &self.bell {
                self.sleeper.poll.remove(old.as_fd());
            }
            if let Some(new) = bell {
                let io = |e| Error::io(core.name(), "waiting for the peer's interrupts failed", e);
                self.sleeper.poll.add(new.as_fd()).map_err(io)?;
            }
            self.bell = bell.cloned();
        }
        self.sleeper.arm(core, RESCUE_NS)?;
        if let Some(ring) = ring {
            ring.ring.mask_interrupts(false);
        }
        Ok(())
    }

    /// The receiver polls again.
    pub(super) fn disarm(&mut self, link: Option<&Link>, index: usize) {
        if let Some(ring) = link.and_then(|link| link.rx(index)) {
            ring.ring.mask_interrupts(true);
        }
        if let Some(bell) = &self.bell {
            bell.drain();
        }
        self.sleeper.disarm();
    }
}

impl AsFd for RxWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sleeper.poll.as_fd()
    }
}

/// Wakes a sender that waits for room, or for a peer.
#[derive(Debug)]
pub(super) struct TxWaker(Sleeper);

impl TxWaker {
    pub(super) fn new(core: &Core) -> Result<Self> {
        Sleeper::new(core).map(Self)
    }

    pub(super) fn arm(&mut self, core: &Core, connected: bool) -> Result<()> {
        self.0.arm(core, if connected { ROOM_NS } else { RESCUE_NS })
    }

    #[inline]
    pub(super) fn disarm(&mut self) {
        if self.0.armed {
            self.0.disarm();
        }
    }
}

impl AsFd for TxWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.poll.as_fd()
    }
}
