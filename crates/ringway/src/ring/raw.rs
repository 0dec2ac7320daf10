//! A ring as addresses, for programs in other languages: they read and fill slots themselves, and say how far they came.

use std::ptr::NonNull;

use super::owned::Owned;
use super::rx::RxRing;
use super::tx::TxRing;
use crate::count::DropReason;

/// Where the parts of a ring lie, for as long as the ring lives. A program may touch the slots from head up to and without tail,
/// and the buffers that they name, until the next sync.
#[derive(Debug, Clone, Copy)]
pub struct RawRing {
    /// netmap's ring header.
    pub header: NonNull<u8>,
    /// The first slot, of 16 bytes.
    pub slots: NonNull<u8>,
    /// Buffer 0 of the region.
    pub bufs: NonNull<u8>,
    /// Number of slots.
    pub num_slots: u32,
    /// Number of buffers, the two reserved ones included.
    pub num_bufs: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
    /// Says which rings may exchange buffers by their slots: all with the same address here. Null for one that may not.
    pub exchanges_in: *const (),
}

impl Owned {
    fn raw(&self) -> RawRing {
        let view = &self.view;
        RawRing {
            header: view.header,
            slots: view.slots.cast(),
            bufs: view.bufs,
            num_slots: view.num(),
            num_bufs: view.nbufs,
            buf_size: view.buf_size(),
            exchanges_in: if view.has_own_words() { std::ptr::null() } else { view.region().id() },
        }
    }

    fn range(&mut self) -> (u32, u32) {
        (self.head(), self.tail)
    }
}

impl RxRing {
    /// Where the parts of the ring lie.
    #[doc(hidden)]
    #[must_use]
    pub fn raw(&self) -> RawRing {
        self.ring.raw()
    }

    /// The head and tail that the program has.
    #[doc(hidden)]
    #[must_use]
    pub fn range(&mut self) -> (u32, u32) {
        self.ring.range()
    }

    /// The program passed the slots before `head`, which is checked before it is used. It skipped `skipped` frames with
    /// bad slots.
    #[doc(hidden)]
    pub fn pass_to(&mut self, head: u32, skipped: u32) {
        self.ring.view.set_head(head);
        for _ in 0..skipped.min(self.ring.view.num()) {
            self.ring.stats.undeliver(DropReason::BadSlot);
        }
    }
}

impl TxRing {
    /// Where the parts of the ring lie.
    #[doc(hidden)]
    #[must_use]
    pub fn raw(&self) -> RawRing {
        self.ring.raw()
    }

    /// The head and tail that the program has.
    #[doc(hidden)]
    #[must_use]
    pub fn range(&mut self) -> (u32, u32) {
        self.ring.range()
    }

    /// The program filled the slots before `head`, which is checked before it is used.
    #[doc(hidden)]
    pub fn pass_to(&mut self, head: u32) {
        self.ring.view.set_head(head);
    }
}

#[cfg(test)]
mod tests {
    use crate::Port;

    /// A loop's end has its slots in the region, behind the header; an end of a pipe has words of its own.
    #[test]
    fn addresses_are_of_the_words_that_bursts_see() {
        let port = Port::open("loop:").unwrap();
        let (rx, tx) = (port.rx[0].raw(), port.tx[0].raw());
        assert_eq!(rx.slots.addr().get() - rx.header.addr().get(), 256);
        assert_eq!((rx.bufs, rx.exchanges_in), (tx.bufs, tx.exchanges_in));
        let pipe = Port::open(&format!("pipe:raw{}{{1", std::process::id())).unwrap();
        assert!(pipe.rx[0].raw().exchanges_in.is_null() && !rx.exchanges_in.is_null());
    }

    #[test]
    fn a_head_from_outside_is_checked() {
        let mut port = Port::open("loop:").unwrap();
        assert!(port.tx[0].push(&[0; 60]) && port.tx[0].push(&[0; 60]));
        port.tx[0].sync().unwrap();
        assert_eq!(port.rx[0].sync().unwrap(), 2);
        let (head, tail) = port.rx[0].range();
        port.rx[0].pass_to(head + 1, 1);
        assert_eq!(port.rx[0].range(), (head + 1, tail));
        port.rx[0].pass_to(tail + 1, 0);
        assert_eq!(port.rx[0].sync().unwrap(), 2, "a wrong head takes nothing");
        let (head, _) = port.tx[0].range();
        port.tx[0].pass_to(u32::MAX);
        assert_eq!(port.tx[0].range().0, head);
        let counters = port.counters();
        assert_eq!((counters.rx.resets, counters.tx.resets), (1, 1));
        assert_eq!((counters.rx.frames_out, counters.rx.dropped()), (1, 1));
    }
}
