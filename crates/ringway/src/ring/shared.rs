//! Rings that several processes serve in turn, under a lock of their own. Each has a port over the same memory, and private words
//! that say what the last sync handed out. A process that was not the last one to sync a ring takes these over before it syncs.

use super::owned::{Owned, RingParts};
use super::rx::RxRing;
use super::sync::{RxSync, TxSync};
use super::tx::TxRing;
use crate::count::DropReason;
use crate::error::Result;

impl Owned {
    /// Takes over the range that was handed out; false, and nothing done, when there are no such slots.
    fn adopt(&mut self, first: u32, tail: u32) -> bool {
        let there = first < self.view.num() && tail < self.view.num();
        if there {
            (self.first, self.tail) = (first, tail);
        }
        there
    }
}

impl RxRing {
    /// A ring that other processes have as well. Nothing in shared memory changes.
    pub(crate) fn join(parts: RingParts, mut backend: Box<dyn RxSync>) -> Self {
        backend.resume(&parts.view, parts.tail);
        Self { ring: Owned::join(parts), backend }
    }

    /// Another process synced this ring last, and left `[first, tail)` to the program: goes on from there. The words in shared memory
    /// stay as they are. False, and nothing done, when there are no such slots.
    #[doc(hidden)]
    pub fn adopt(&mut self, first: u32, tail: u32) -> bool {
        let adopted = self.ring.adopt(first, tail);
        if adopted {
            self.backend.resume(&self.ring.view, tail);
        }
        adopted
    }

    /// Begin of the range that the last sync handed out.
    #[doc(hidden)]
    #[must_use]
    pub fn first(&self) -> u32 {
        self.ring.first
    }

    /// End of the range that the last sync handed out.
    #[doc(hidden)]
    #[must_use]
    pub fn tail(&self) -> u32 {
        self.ring.tail
    }

    /// Whether head and cur in shared memory are ones that a program may have. The next sync resets others.
    #[doc(hidden)]
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.ring.is_sound()
    }

    /// Sets head, cur and tail in shared memory to the range that the last sync handed out, and counts that.
    #[doc(hidden)]
    pub fn reset_cursors(&mut self) {
        self.ring.reset();
    }

    /// Collects new frames as [`sync`](Self::sync) does, but gives no slot back, whatever the head says. Returns the slots of the
    /// range that is handed out then.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    #[doc(hidden)]
    pub fn collect(&mut self) -> Result<u32> {
        let first = self.ring.first;
        let tail = self.backend.sync(&self.ring.view, first)?;
        self.ring.view.stamp();
        Ok(self.ring.publish(first, tail))
    }

    /// Counts a frame that was delivered, and that a library around the ring lost.
    #[doc(hidden)]
    pub fn lose(&self, why: DropReason) {
        self.ring.stats.undeliver(why);
    }

    /// Asks for a wake-up when frames come beyond what the program has; true when they are there. [`arm`](Self::arm) asks when
    /// it has none.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    #[doc(hidden)]
    pub fn arm_for_more(&mut self) -> Result<bool> {
        self.backend.arm(&self.ring.view)
    }
}

impl TxRing {
    /// As [`RxRing::join`].
    pub(crate) fn join(parts: RingParts, mut backend: Box<dyn TxSync>) -> Self {
        backend.resume(&parts.view, parts.tail);
        Self { ring: Owned::join(parts), backend }
    }

    /// As [`RxRing::adopt`]. Slots before `first` that were not sent follow `tail`.
    #[doc(hidden)]
    pub fn adopt(&mut self, first: u32, tail: u32) -> bool {
        let adopted = self.ring.adopt(first, tail);
        if adopted {
            self.backend.resume(&self.ring.view, tail);
        }
        adopted
    }

    /// Begin of the range that the last sync handed out.
    #[doc(hidden)]
    #[must_use]
    pub fn first(&self) -> u32 {
        self.ring.first
    }

    /// End of the range that the last sync handed out.
    #[doc(hidden)]
    #[must_use]
    pub fn tail(&self) -> u32 {
        self.ring.tail
    }

    /// As [`RxRing::arm_for_more`], for slots that become free.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    #[doc(hidden)]
    pub fn arm_for_more(&mut self) -> Result<bool> {
        self.backend.arm(&self.ring.view)
    }

    /// As [`RxRing::is_sound`].
    #[doc(hidden)]
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.ring.is_sound()
    }

    /// As [`RxRing::reset_cursors`].
    #[doc(hidden)]
    pub fn reset_cursors(&mut self) {
        self.ring.reset();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::abi::Slot;
    use crate::count::Registration;
    use crate::memory::Region;
    use crate::ring::{Lease, PortShape, RingView};
    use crate::sys::fd::always_ready;

    const SLOTS: u32 = 8;

    /// The wire that both processes have: frames that wait, named by their lengths, and frames that were sent.
    #[derive(Debug, Default)]
    struct Wire {
        waiting: VecDeque<u16>,
        sent: Vec<u16>,
        /// Frames that the wire takes at each sync.
        room: usize,
    }

    /// A side whose place in the ring is in memory of its process.
    #[derive(Debug)]
    struct Side {
        wire: Arc<Mutex<Wire>>,
        at: u32,
        ready: Arc<OwnedFd>,
    }

    impl RxSync for Side {
        fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
            let mut wire = self.wire.lock().unwrap();
            while self.at != ring.prev(head) {
                let Some(len) = wire.waiting.pop_front() else { break };
                ring.set_slot(self.at, Slot { len, ..ring.slot(self.at) });
                self.at = ring.next(self.at);
            }
            Ok(self.at)
        }

        fn resume(&mut self, _: &RingView, tail: u32) {
            self.at = tail;
        }

        fn arm(&mut self, _: &RingView) -> Result<bool> {
            Ok(true)
        }

        fn fd(&self) -> BorrowedFd<'_> {
            self.ready.as_fd()
        }
    }

    impl TxSync for Side {
        fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
            let mut wire = self.wire.lock().unwrap();
            for _ in 0..wire.room {
                if self.at == head {
                    break;
                }
                wire.sent.push(ring.slot(self.at).len);
                self.at = ring.next(self.at);
            }
            Ok(ring.prev(self.at))
        }

        fn resume(&mut self, ring: &RingView, tail: u32) {
            self.at = ring.next(tail);
        }

        fn arm(&mut self, _: &RingView) -> Result<bool> {
            Ok(true)
        }

        fn fd(&self) -> BorrowedFd<'_> {
            self.ready.as_fd()
        }
    }

    /// A pair of rings, as two processes have it.
    fn shared() -> (Arc<Mutex<Wire>>, [(TxRing, RxRing); 2]) {
        let shape = PortShape { tx_rings: 1, rx_rings: 1, slots: SLOTS, host: false };
        let region = Region::memfd(&shape.region(2048)).unwrap();
        let lease = Lease::take(&region, "test", &shape).unwrap();
        let wire = Arc::new(Mutex::new(Wire::default()));
        let registration = Registration::unlisted("test", 2, 2).unwrap();
        let handles = [0, 1].map(|process| {
            let views: Vec<RingView> = lease.views().collect();
            let side = |at| Side { wire: wire.clone(), at, ready: always_ready().unwrap() };
            let parts = |ring: usize, tail, stats| {
                let (view, lease) = (views[ring].clone(), lease.clone());
                RingParts { view, first: 0, tail, stats, lease }
            };
            let (tx, rx) =
                (parts(0, SLOTS - 1, registration.tx(process)), parts(1, 0, registration.rx(process)));
            // The second one's places are wrong until it takes over.
            if process == 0 {
                (TxRing::new(tx, Box::new(side(0))), RxRing::new(rx, Box::new(side(0))))
            } else {
                (TxRing::join(tx, Box::new(side(3))), RxRing::join(rx, Box::new(side(5))))
            }
        });
        (wire, handles)
    }

    proptest! {
        /// Two processes sync one rx ring in turn, as the lock has it. A reader sees all frames once and in order.
        #[test]
        fn received_frames_come_once_whoever_syncs(
            steps in proptest::collection::vec((0usize..2, any::<bool>(), 0usize..6, 0u32..9), 1..60),
        ) {
            let (wire, mut handles) = shared();
            let (mut made, mut read, mut last, mut ledger) = (0u16, 0u16, 0, (0, 0));
            for (who, collects, arrive, pass) in steps {
                for _ in 0..arrive {
                    wire.lock().unwrap().waiting.push_back(made);
                    made += 1;
                }
                let rx = &mut handles[who].1;
                if who != last {
                    let (before, head, tail) = (rx.ring.view.cur(), rx.ring.view.head(), rx.ring.view.tail());
                    prop_assert!(rx.adopt(ledger.0, ledger.1));
                    let after = (rx.ring.view.cur(), rx.ring.view.head(), rx.ring.view.tail());
                    prop_assert_eq!((before, head, tail), after, "shared words stay");
                }
                prop_assert!(rx.is_sound());
                let head = rx.ring.view.head();
                if collects {
                    let first = rx.first();
                    let owned = rx.collect().unwrap();
                    prop_assert_eq!((rx.first(), rx.ring.view.head()), (first, head), "nothing is given back");
                    prop_assert_eq!(owned, rx.ring.view.dist(first, rx.tail()));
                } else {
                    rx.sync().unwrap();
                    prop_assert_eq!(rx.first(), head);
                }
                for frame in rx.burst(pass) {
                    prop_assert_eq!(frame.len(), usize::from(read));
                    read += 1;
                }
                (ledger, last) = ((rx.first(), rx.tail()), who);
            }
            let left = wire.lock().unwrap().waiting.len() + handles[last].1.avail() as usize;
            prop_assert_eq!(usize::from(read) + left, usize::from(made), "none is lost");
        }

        /// The same for a tx ring, whose wire does not always take all.
        #[test]
        fn sent_frames_leave_once_whoever_syncs(
            steps in proptest::collection::vec((0usize..2, 0u32..9, 0usize..9), 1..60),
        ) {
            let (wire, mut handles) = shared();
            let (mut made, mut last, mut ledger) = (0u16, 0, (0, SLOTS - 1));
            for (who, push, room) in steps {
                let tx = &mut handles[who].0;
                if who != last {
                    prop_assert!(tx.adopt(ledger.0, ledger.1));
                }
                prop_assert!(tx.is_sound());
                for _ in 0..push {
                    made += u16::from(tx.push(&[0; 2000][..usize::from(made)]));
                }
                wire.lock().unwrap().room = room;
                tx.sync().unwrap();
                (ledger, last) = ((tx.first(), tx.tail()), who);
            }
            let sent = wire.lock().unwrap().sent.clone();
            prop_assert_eq!(sent.len() + handles[last].0.pending() as usize, usize::from(made));
            prop_assert!(sent.into_iter().eq(0..made - handles[last].0.pending() as u16));
        }
    }

    #[test]
    fn nonsense_is_refused_or_told() {
        let (_, [(mut tx, mut rx), _]) = shared();
        assert!(!rx.adopt(SLOTS, 0) && !rx.adopt(0, u32::MAX) && !tx.adopt(u32::MAX, 0));
        assert_eq!((tx.first(), tx.tail(), rx.first(), rx.tail()), (0, SLOTS - 1, 0, 0));
        rx.pass_to(1, 0);
        tx.pass_to(SLOTS);
        assert!(!rx.is_sound() && !tx.is_sound());
        assert_eq!((rx.ring.view.head(), tx.ring.view.head()), (1, SLOTS), "a look changes nothing");
        rx.reset_cursors();
        tx.reset_cursors();
        assert!(rx.is_sound() && tx.is_sound());
        assert_eq!((rx.range(), tx.range()), ((0, 0), (0, SLOTS - 1)));
    }
}
