//! A ring: what the program sees, and the library's ring behind it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, RawRing, Result, RxRing, TxRing, Waiter, Wakeable};

use crate::types::RingView;

/// What a `struct rw_ring *` points to. The part that the program sees comes first.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) view: RingView,
    pub(crate) end: End,
}

/// The library's ring.
#[derive(Debug)]
pub(crate) enum End {
    Rx(RxRing),
    Tx(TxRing),
}

impl Ring {
    pub(crate) fn rx(number: u32, ring: RxRing) -> Self {
        Self::new(number, 1, ring.raw(), End::Rx(ring))
    }

    pub(crate) fn tx(number: u32, ring: TxRing) -> Self {
        Self::new(number, 0, ring.raw(), End::Tx(ring))
    }

    fn new(number: u32, direction: u32, raw: RawRing, end: End) -> Self {
        let view = RingView {
            head: 0,
            tail: 0,
            num_slots: raw.num_slots,
            buf_size: raw.buf_size,
            num_bufs: raw.num_bufs,
            skipped: 0,
            slots: raw.slots.as_ptr().cast(),
            bufs: raw.bufs.as_ptr(),
            exchanges_in: raw.exchanges_in.cast(),
            header: raw.header.as_ptr().cast(),
            user: std::ptr::null_mut(),
            number,
            direction,
        };
        let mut ring = Self { view, end };
        ring.show();
        ring
    }

    /// The library learns how far the program came.
    pub(crate) fn learn(&mut self) {
        match &mut self.end {
            End::Rx(rx) => rx.pass_to(self.view.head, std::mem::take(&mut self.view.skipped)),
            End::Tx(tx) => tx.pass_to(self.view.head),
        }
    }

    /// The program learns what it has now.
    pub(crate) fn show(&mut self) {
        (self.view.head, self.view.tail) = match &mut self.end {
            End::Rx(rx) => rx.range(),
            End::Tx(tx) => tx.range(),
        };
    }

    /// Calls the library in between.
    fn with<T>(&mut self, call: impl FnOnce(&mut End) -> Result<T>) -> Result<T> {
        self.learn();
        let result = call(&mut self.end);
        self.show();
        result
    }

    /// Exchanges slots with the other side; returns the slots from head to tail.
    pub(crate) fn sync(&mut self) -> Result<u32> {
        self.with(End::sync)
    }

    /// Asks for a wake-up; true when there is something already.
    pub(crate) fn arm(&mut self) -> Result<bool> {
        self.with(End::arm)
    }

    /// The descriptor to sleep on.
    pub(crate) fn fd(&self) -> RawFd {
        match &self.end {
            End::Rx(rx) => rx.as_fd().as_raw_fd(),
            End::Tx(tx) => tx.as_fd().as_raw_fd(),
        }
    }
}

impl End {
    fn sync(&mut self) -> Result<u32> {
        match self {
            Self::Rx(rx) => rx.sync(),
            Self::Tx(tx) => tx.sync(),
        }
    }

    fn arm(&mut self) -> Result<bool> {
        match self {
            Self::Rx(rx) => rx.arm(),
            Self::Tx(tx) => tx.arm(),
        }
    }
}

/// Moves up to `max` slots from one ring to the other.
pub(crate) fn forward(from: &mut Ring, to: &mut Ring, max: u32) -> Result<u32> {
    from.learn();
    to.learn();
    let moved = match (&mut from.end, &mut to.end) {
        (End::Rx(rx), End::Tx(tx)) => Ok(ringway::forward(rx, tx, max)),
        _ => {
            let what = "frames go from an rx ring to a tx ring";
            Err(Error::new(ErrorKind::Invalid, "rw_forward", what).cure("pass rw_rx() first, then rw_tx()"))
        }
    };
    from.show();
    to.show();
    moved
}

/// Sends until the other side took all that is filled, or the time is over; returns the slots that it did not take.
pub(crate) fn drain(ring: &mut Ring, timeout: Duration) -> Result<u32> {
    ring.with(|end| {
        let End::Tx(tx) = end else {
            let what = "there is nothing to drain in an rx ring";
            return Err(Error::new(ErrorKind::Invalid, "rw_drain", what).cure("pass rw_tx()"));
        };
        let end = Instant::now() + timeout;
        tx.sync()?;
        while tx.pending() > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            Waiter::new(Duration::ZERO)?.wait(&mut [&mut Pending(tx)], left)?;
        }
        Ok(tx.pending())
    })
}

/// A tx ring that has something when the other side took all of it.
#[derive(Debug)]
struct Pending<'a>(&'a mut TxRing);

impl AsFd for Pending<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wakeable for Pending<'_> {
    fn sync(&mut self) -> Result<u32> {
        self.0.sync()?;
        Ok(u32::from(self.0.pending() == 0))
    }

    fn arm(&mut self) -> Result<bool> {
        self.0.arm_pending()
    }
}

/// Waits until one of the rings has something. Without a waiter it makes one for the sleep.
pub(crate) fn wait(rings: &mut [&mut Ring], waiter: Option<&mut Waiter>, timeout: Duration) -> Result<bool> {
    rings.iter_mut().for_each(|ring| ring.learn());
    let found = match waiter {
        Some(waiter) => waiter.wait(&mut ends(rings), timeout),
        None => wait_once(rings, timeout),
    };
    rings.iter_mut().for_each(|ring| ring.show());
    found
}

fn wait_once(rings: &mut [&mut Ring], timeout: Duration) -> Result<bool> {
    let mut ready = false;
    for ring in &mut *rings {
        ready |= ring.end.sync()? > 0;
    }
    if ready || timeout.is_zero() {
        return Ok(ready);
    }
    Waiter::new(Duration::ZERO)?.wait(&mut ends(rings), timeout)
}

fn ends<'a>(rings: &'a mut [&mut Ring]) -> Vec<&'a mut dyn Wakeable> {
    let end = |ring: &'a mut &mut Ring| -> &'a mut dyn Wakeable {
        match &mut ring.end {
            End::Rx(rx) => rx,
            End::Tx(tx) => tx,
        }
    };
    rings.iter_mut().map(end).collect()
}
