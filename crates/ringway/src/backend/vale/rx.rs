//! The receiving side of a ring of a switch port.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

use super::core::Core;
use crate::abi::handshake;
use crate::error::{Error, Result};
use crate::ring::{Finisher, RingView, RxSync};
use crate::sys::bpf::Bell;
use ringway_switch::layout::ctl;

/// How long a receiver sleeps whose doorbell senders may not ring, before it looks for itself.
const QUIET_NAP: Duration = Duration::from_millis(1);

/// The receiving side of a ring.
#[derive(Debug)]
pub(super) struct ValeRx {
    core: Arc<Core>,
    bell: Arc<Bell>,
    ring: u32,
    /// Position up to which frames were handed out, as programs count; low half.
    seen: u32,
    armed: bool,
    finisher: Finisher,
}

impl ValeRx {
    pub(super) fn new(core: Arc<Core>, ring: u32, seen: u32, raw: bool) -> Self {
        let bell = core.bells[ring as usize].clone();
        Self { core, bell, ring, seen, armed: false, finisher: Finisher::when(!raw) }
    }

    /// Whether super-frames come whole.
    pub(super) fn set_whole(&self, on: bool) {
        self.ctl(ctl::WHOLE).store(u32::from(on), Relaxed);
    }

    fn ctl(&self, at: usize) -> &AtomicU32 {
        self.core.ctl(self.core.shape.rings + self.ring, at)
    }

    /// Position before which senders published, by the programs' own book.
    fn published(&self) -> Result<u32> {
        Ok(self.core.view.look(self.ring, &self.core.name)?.published)
    }

    /// Puts right what programs told, which the last user may have overwritten. Senders may tell news meanwhile.
    pub(super) fn republish_position(&mut self, view: &RingView) -> Result<()> {
        loop {
            view.kernel_progress().store(self.seen, Release);
            let now = self.published()?;
            if std::mem::replace(&mut self.seen, now) == now {
                return Ok(());
            }
        }
    }

    /// The same for the word that tells whether the doorbell is quiet. Programs write their book first, so one that tells
    /// news meanwhile is not overwritten; a word that is set too long falls with the next ring.
    pub(super) fn republish_quiet(&self) -> Result<()> {
        self.ctl(ctl::QUIET).store(0, SeqCst);
        if self.core.view.look(self.ring, &self.core.name)?.is_quiet() {
            self.ctl(ctl::QUIET).store(1, Release);
        }
        Ok(())
    }

    /// Where the last user stopped: the head that it gave back last, if that lies between what the programs know as given
    /// back and what they published.
    pub(super) fn begin(&mut self, view: &RingView, known: u32) -> (u32, u32) {
        let tail = self.core.index(self.seen);
        let waiting = self.seen.wrapping_sub(known).min(view.num() - 1);
        let first = self.core.index(self.seen.wrapping_sub(waiting));
        let head = self.ctl(ctl::HEAD).load(Acquire);
        let ok = head < view.num() && view.dist(first, head) <= waiting;
        let head = if ok { head } else { first };
        if view.partial_checksums() {
            self.finisher.finish(view, head, tail);
        }
        (head, tail)
    }
}

/// The last position up to the published one whose slot is `tail`. No more than a ring of frames waits behind it.
fn handed_out(published: u32, tail: u32, slots: u32) -> u32 {
    published.wrapping_sub(published.wrapping_sub(tail) & (slots - 1))
}

impl RxSync for ValeRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        if self.armed {
            self.armed = false;
            handshake::withdraw(self.ctl(ctl::WISH));
            self.bell.drain();
        }
        self.ctl(ctl::HEAD).store(head, Release);
        let mut now = handshake::observe(ring.kernel_progress());
        if now.wrapping_sub(self.seen) >= ring.num() {
            // A sender told an older position after another one told a newer, and is about to look again; or the word was
            // overwritten. What was published never goes back.
            now = self.published()?;
        }
        if now == self.seen {
            self.core.look()?;
        }
        let (from, to) = (self.core.index(self.seen), self.core.index(now));
        if from != to && ring.partial_checksums() {
            self.finisher.finish(ring, from, to);
        }
        self.seen = now;
        Ok(to)
    }

    fn resume(&mut self, ring: &RingView, tail: u32) {
        // What senders told may be older than the tail. Of a port that is gone the next sync tells.
        let published = self.published().unwrap_or_else(|_| handshake::observe(ring.kernel_progress()));
        self.seen = handed_out(published, tail, ring.num());
    }

    fn arm(&mut self, ring: &RingView) -> Result<bool> {
        self.core.look()?;
        self.armed = true;
        let now = handshake::wish(ring.kernel_progress(), self.ctl(ctl::WISH));
        if now != self.seen {
            return Ok(true);
        }
        // Looked at after the wish was left: a sender that sets it then looks for a wish.
        if self.ctl(ctl::QUIET).load(Acquire) == 0 {
            return Ok(false);
        }
        self.bell
            .wait(QUIET_NAP)
            .map_err(|e| Error::io(&self.core.name, "waiting for the doorbell failed", e))?;
        Ok(true)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Positions go on for ever, also over the end of a word.
        #[test]
        fn a_slot_tells_its_position(seen: u32, power in 6u32..13, waiting in 0u32..4096) {
            let slots = 1 << power;
            let published = seen.wrapping_add(waiting % slots);
            prop_assert_eq!(handed_out(published, seen % slots, slots), seen);
        }
    }
}
