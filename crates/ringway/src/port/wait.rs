//! Waiting for frames on many rings: look again for a while, then sleep.

use std::os::fd::AsFd;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::ring::{RxRing, TxRing};
use crate::sys::{fd::Epoll, time};

/// A ring, or anything else, that a [`Waiter`] waits for. The words are those of the rings: [`sync`](RxRing::sync),
/// [`arm`](RxRing::arm) and a descriptor that wakes.
pub trait Wakeable: AsFd {
    /// Exchanges with the other side; returns how much there is to do.
    ///
    /// # Errors
    /// Those of the ring's sync.
    fn sync(&mut self) -> Result<u32>;

    /// Asks for a wake-up; true when there is something to do already, or it pays to look at once.
    ///
    /// # Errors
    /// Those of the ring's sync.
    fn arm(&mut self) -> Result<bool>;
}

impl Wakeable for RxRing {
    fn sync(&mut self) -> Result<u32> {
        self.sync()
    }

    fn arm(&mut self) -> Result<bool> {
        self.arm()
    }
}

impl Wakeable for TxRing {
    fn sync(&mut self) -> Result<u32> {
        self.sync()
    }

    fn arm(&mut self) -> Result<bool> {
        self.arm()
    }
}

/// Waits for any of several rings.
///
/// It first syncs them in turn for the spin time, because a sleep and a wake-up cost some microseconds, then sleeps
/// until one has something. A wait that found nothing while spinning halves the spin time of the next one, down to
/// nothing, and one that did restores it: a busy ring is polled, an idle one costs no CPU.
///
/// ```
/// use ringway::{Port, Waiter};
/// use std::time::Duration;
/// let mut port = Port::open("loop:")?;
/// let mut waiter = Waiter::new(Duration::from_micros(20))?;
/// assert!(!waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(1))?);
/// port.tx[0].push(&[0; 60]);
/// port.tx[0].sync()?;
/// assert!(waiter.wait(&mut [&mut port.rx[0]], Duration::from_millis(1))?);
/// # Ok::<(), ringway::Error>(())
/// ```
#[derive(Debug)]
pub struct Waiter {
    epoll: Epoll,
    spin_ns: u64,
    spin_now_ns: u64,
}

impl Waiter {
    /// A waiter that spins for `spin` at most before it sleeps; zero sleeps at once. The latency added by a sleep is
    /// that of one doorbell and one thread wake-up.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new(spin: Duration) -> Result<Self> {
        let epoll = Epoll::new().map_err(|e| Error::io("waiter", "epoll_create failed", e))?;
        let spin_ns = spin.as_nanos() as u64;
        Ok(Self { epoll, spin_ns, spin_now_ns: spin_ns })
    }

    /// Waits until a ring has something, the time is over, a signal came, or a ring is to be looked at again
    /// ([`RxRing::arm`]); true in the first case.
    ///
    /// # Errors
    /// Those of the rings' sync.
    pub fn wait(&mut self, rings: &mut [&mut dyn Wakeable], timeout: Duration) -> Result<bool> {
        if self.spin(rings, timeout)? {
            self.spin_now_ns = self.spin_ns;
            return Ok(true);
        }
        self.spin_now_ns /= 2;
        for r in rings.iter_mut() {
            // Each wait adds it again, because a descriptor may have been closed and its number reused.
            self.epoll.add(r.as_fd()).map_err(|e| Error::io("waiter", "epoll_ctl failed", e))?;
            if r.arm()? {
                return sync(rings);
            }
        }
        let ms = timeout.as_millis().min(i32::MAX as u128) as i32;
        let ms = if ms == 0 && !timeout.is_zero() { 1 } else { ms };
        let woken = self.epoll.wait(ms).map_err(|e| Error::io("waiter", "epoll_wait failed", e))?;
        if woken {
            self.spin_now_ns = self.spin_ns;
        }
        sync(rings)
    }

    fn spin(&self, rings: &mut [&mut dyn Wakeable], timeout: Duration) -> Result<bool> {
        let limit = self.spin_now_ns.min(timeout.as_nanos() as u64);
        let start = time::monotonic_ns();
        loop {
            if sync(rings)? {
                return Ok(true);
            }
            if time::monotonic_ns() - start >= limit {
                return Ok(false);
            }
            for _ in 0..32 {
                std::hint::spin_loop();
            }
        }
    }
}

fn sync(rings: &mut [&mut dyn Wakeable]) -> Result<bool> {
    let mut any = false;
    for r in rings.iter_mut() {
        any |= r.sync()? > 0;
    }
    Ok(any)
}
