//! The engine as a program has it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use ringway::{Error, ErrorKind, PortCounters, Result};

use super::burst::Burst;
use super::counts::Counts;
use super::holders::Holder;
use super::ready::Ready;
use super::shared::Shared;
use crate::sleep::PENDING_NAP;
use crate::{Background, WorkerError};

/// Ports that any number of threads use: see [`engine`](crate::engine). Clones are the same engine; it ends when the last one
/// is dropped.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    threads: Arc<Threads>,
}

/// Ends the I/O threads.
#[derive(Debug)]
pub(super) struct Threads {
    shared: Arc<Shared>,
    pub(super) io: Vec<Background>,
}

impl Engine {
    pub(super) fn new(shared: Arc<Shared>, io: Vec<Background>) -> Self {
        Self { threads: Arc::new(Threads { shared: shared.clone(), io }), shared }
    }

    /// A burst for one thread.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there are as many as the engine was built for ([`Builder::threads`](super::Builder::threads)).
    pub fn burst(&self) -> Result<Burst> {
        Burst::new(&self.shared)
    }

    /// Waits for frames, and returns how many there are; 0 when no port will ever receive again. Frames that are still in the
    /// burst end here.
    ///
    /// # Errors
    /// When the burst is of another engine. Failures of ports are no errors of this call: see [`port_error`](Self::port_error).
    pub fn receive(&self, burst: &mut Burst) -> Result<usize> {
        self.receive_timeout(burst, Duration::MAX)
    }

    /// As [`receive`](Self::receive), for so long at most; 0 when the time is over as well.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_timeout(&self, burst: &mut Burst, timeout: Duration) -> Result<usize> {
        let count = self.try_receive(burst)?;
        if count > 0 || timeout.is_zero() {
            return Ok(count);
        }
        let start = Instant::now();
        let (usual, limit) = (self.shared.choices.spin, burst.spin.min(timeout));
        let count = look(start, limit, || burst.take().map(|count| Some(count).filter(|&count| count > 0)))?;
        if let Some(count) = count {
            burst.spin = usual;
            return Ok(count);
        }
        burst.spin /= 2;
        self.sleep_for_frames(burst, start, timeout)
    }

    #[cold]
    fn sleep_for_frames(&self, burst: &mut Burst, start: Instant, timeout: Duration) -> Result<usize> {
        let shared = &*self.shared;
        loop {
            // In this order: what came before the end is in the queues then.
            let ended = shared.has_ended();
            let count = burst.take()?;
            let left = timeout.saturating_sub(start.elapsed());
            if count > 0 || ended || left.is_zero() {
                return Ok(count);
            }
            match shared.bell(burst.at).filter(|_| burst.may_receive()) {
                Some(bell) => bell.sleep(left, || shared.has_something(burst.at)),
                None => std::thread::sleep(PENDING_NAP), // it can't join yet
            }
            burst.spin = shared.choices.spin;
        }
    }

    /// As [`receive`](Self::receive), without waiting.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn try_receive(&self, burst: &mut Burst) -> Result<usize> {
        self.owns(burst)?;
        if !burst.is_empty() {
            burst.clear();
        }
        burst.finish_lane();
        if !self.shared.choices.gather.is_zero() {
            burst.flush();
        }
        burst.take()
    }

    /// Sends the frames of a burst to the ports that [`send_to`](super::Frame::send_to) named, and lets the others go. It waits for
    /// room, unless the engine drops frames instead, and leaves the burst empty.
    ///
    /// # Errors
    /// As [`receive`](Self::receive). Frames to a port that failed are counted as [`PortFailed`](ringway::DropReason::PortFailed).
    #[inline]
    pub fn send(&self, burst: &mut Burst) -> Result<()> {
        self.send_timeout(burst, Duration::MAX).map(|_| ())
    }

    /// As [`send`](Self::send), for so long at most; false when frames are left in the burst.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn send_timeout(&self, burst: &mut Burst, timeout: Duration) -> Result<bool> {
        if self.try_send(burst)? || timeout.is_zero() {
            return Ok(burst.is_empty());
        }
        let (start, limit) = (Instant::now(), self.shared.choices.spin.min(timeout));
        if look(start, limit, || Ok(self.try_send(burst)?.then_some(())))?.is_some() {
            return Ok(true);
        }
        while !self.try_send(burst)? {
            let left = timeout.saturating_sub(start.elapsed());
            let to =
                burst.block.tokens().first().and_then(|token| self.shared.ports.get(usize::from(token.to)));
            let Some(port) = to.filter(|_| !left.is_zero()) else { return Ok(false) };
            let room = || !port.queue.is_full() || port.has_failed();
            port.room.sleep(left, room);
        }
        Ok(true)
    }

    /// As [`send`](Self::send), without waiting; false when frames are left in the burst.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    #[inline]
    pub fn try_send(&self, burst: &mut Burst) -> Result<bool> {
        self.owns(burst)?;
        burst.send_now();
        Ok(burst.is_empty())
    }

    /// Sends what [gathered](super::Builder::gather) in earlier calls now; false when there is no room.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn flush(&self, burst: &mut Burst) -> Result<bool> {
        self.owns(burst)?;
        Ok(burst.flush())
    }

    /// Whether no port will ever receive again: captures were read to their ends, or all ports failed. Frames may still wait for
    /// threads: a thread that saw the end, and then receives nothing, has had all of its own.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.has_ended()
    }

    /// The names of the ports, in full, in the order in which they were given. A port's place here is its number.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &str> {
        self.shared.ports.iter().map(|port| &*port.name)
    }

    /// Why a port failed last, if it ever did. A port whose interface is gone stays failed: frames to it are dropped by name, and
    /// other ports go on.
    ///
    /// # Panics
    /// When there is no such port.
    #[must_use]
    pub fn port_error(&self, port: usize) -> Option<Error> {
        self.shared.ports[port].error()
    }

    /// The counters of a port's own rings, as [`Port::counters`](ringway::Port::counters).
    ///
    /// # Panics
    /// When there is no such port.
    #[must_use]
    pub fn port_counters(&self, port: usize) -> PortCounters {
        self.shared.ports[port].watch.counters()
    }

    /// The engine's counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Who holds how many frames, and for how long.
    #[must_use]
    pub fn holders(&self) -> Vec<Holder> {
        self.shared.holders.report()
    }

    /// What a program polls, or gives to a [`Waiter`](ringway::Waiter), to learn that frames wait for a burst.
    /// Its descriptor is the same for as long as there is the burst.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ringway::Waiter;
    /// use ringway_engine::Engine;
    /// let engine = Engine::builder().port("null:").build()?;
    /// let mut burst = engine.burst()?;
    /// let mut waiter = Waiter::new(Duration::ZERO)?;
    /// assert!(waiter.wait(&mut [&mut engine.readable(&mut burst)?], Duration::from_secs(60))?);
    /// assert!(engine.try_receive(&mut burst)? > 0);
    /// # Ok::<(), ringway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn readable(&self, burst: &mut Burst) -> Result<Ready<'_>> {
        self.owns(burst)?;
        burst.join_receivers()?;
        let bell = self.shared.bell(burst.at).filter(|_| burst.may_receive());
        let none = || {
            Error::new(ErrorKind::Busy, "engine", "other threads just left, and their flows move")
                .cure("try again")
        };
        Ok(Ready::for_frames(&self.shared, bell.ok_or_else(none)?, burst.at))
    }

    /// The same for room in the queue to a port.
    ///
    /// # Panics
    /// When there is no such port.
    #[must_use]
    pub fn writable(&self, port: usize) -> Ready<'_> {
        Ready::for_room(&self.shared, port)
    }

    /// Ends the I/O threads, which send what waits for ports first, for a second at most.
    ///
    /// # Errors
    /// An I/O thread panicked. Other clones of the engine make this do nothing.
    pub fn end(self) -> std::result::Result<(), WorkerError> {
        let Some(mut threads) = Arc::into_inner(self.threads) else { return Ok(()) };
        self.shared.end();
        threads.io.drain(..).try_for_each(Background::end)
    }

    fn owns(&self, burst: &Burst) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &burst.shared) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Invalid, "engine", "the burst is of another engine")
            .cure("make one with this engine's `burst`"))
    }
}

/// Looks for something again and again, for so long.
fn look<T>(
    start: Instant,
    limit: Duration,
    mut find: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    while start.elapsed() < limit {
        (0..32).for_each(|_| std::hint::spin_loop());
        let found = find()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

impl Shared {
    fn end(&self) {
        self.stop.store(true, Release);
        self.io.iter().for_each(|io| io.bell.ring_always());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.end();
    }
}
