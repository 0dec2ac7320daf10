//! One queue of an `xdp:` port: a socket whose two halves are synced from different threads, and
//! how it is replaced.
//!
//! Each half has a lock of its own, which only its own ring's syncs take, so nobody waits. A thread
//! that replaces the socket takes both, the receiving half first.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::core::Core;
use super::rx_half::RxHalf;
use super::sender::Sender;
use super::tx_half::TxHalf;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::fd::Watch;
use crate::sys::xsk::{Umem, Wanted, Xsk, ZeroCopy};

/// How long a queue may be busy: another program may have just closed its socket, and the kernel releases a closed socket's
/// queue in the background.
const PATIENCE: Duration = Duration::from_secs(3);

/// One queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) core: Arc<Core>,
    pub(super) want: Wanted,
    pub(super) umem: Umem,
    rx: Mutex<RxHalf>,
    tx: Mutex<TxHalf>,
    /// Readable when the socket is, and the same when the socket changes.
    watch: Watch,
    /// Whether a socket was lost and could not be replaced.
    broken: AtomicBool,
}

impl Queue {
    /// Sets up `fd`, a fresh socket, on queue `want.queue`.
    pub(super) fn new(core: Arc<Core>, want: Wanted, fd: OwnedFd) -> Result<Self> {
        let umem = core.region.shared().umem(want.zero_copy != ZeroCopy::No);
        let watch = Watch::new().map_err(|e| Error::io(&core.name, "epoll_create failed", e))?;
        let bufs = core.region.shared().layout.bufs;
        let queue = Self {
            rx: Mutex::new(RxHalf::new(umem, bufs)),
            tx: Mutex::new(TxHalf::new(bufs)),
            core,
            want,
            umem,
            watch,
            broken: AtomicBool::new(false),
        };
        queue.connect(fd)?;
        Ok(queue)
    }

    pub(super) fn rx(&self) -> MutexGuard<'_, RxHalf> {
        self.rx.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tx(&self) -> MutexGuard<'_, TxHalf> {
        self.tx.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the queue's descriptor readable when the socket is, until [`look_away`](Self::look_away).
    pub(super) fn watch(&self, socket: BorrowedFd<'_>) -> Result<()> {
        self.watch.arm(socket).map_err(|e| Error::io(&self.core.name, "epoll_ctl failed", e))
    }

    /// Makes it unreadable.
    #[inline]
    pub(super) fn look_away(&self, socket: BorrowedFd<'_>) {
        self.watch.disarm(socket);
    }

    /// Whether the driver works on the buffers themselves.
    pub(super) fn zero_copy(&self) -> bool {
        self.tx().sender.as_ref().is_some_and(|s| s.fd.zero_copy)
    }

    /// Why the driver refused to, when it was asked.
    pub(super) fn refused(&self) -> Option<i32> {
        self.tx().sender.as_ref().and_then(|s| s.fd.refused)
    }

    /// A new socket in place of one that no longer works. Frames in the old one's rx ring are lost and counted; frames
    /// handed to it for sending count as sent.
    pub(super) fn reconnect(&self) -> Result<()> {
        let (mut rx, mut tx) = (self.rx(), self.tx());
        rx.disconnect();
        tx.disconnect();
        drop((rx, tx));
        let fd = self.core.interface.inside(Xsk::socket);
        let fd = fd.map_err(|e| Error::io(&self.core.name, "making an AF_XDP socket failed", e));
        let made = fd.and_then(|fd| self.connect(fd));
        self.broken.store(made.is_err(), Relaxed);
        made
    }

    /// Fails when a socket was lost and no new one could be made: neither half will ever work again.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if !self.broken.load(Relaxed) {
            return Ok(());
        }
        let what = "the AF_XDP socket was lost and could not be replaced";
        Err(Error::new(ErrorKind::Gone, &self.core.name, what).cure("open the port again"))
    }

    /// Binds `fd` to the queue, or a new socket when the queue is still busy.
    fn connect(&self, fd: OwnedFd) -> Result<()> {
        let core = &self.core;
        let mut unbound = Some(fd);
        let make = || unbound.take().map_or_else(|| core.interface.inside(Xsk::socket), Ok);
        let socket = Xsk::when_free(make, &self.umem, &self.want, PATIENCE)
            .map_err(|e| core.refused(self.want.queue, e))?;
        let fd = socket.fd.clone();
        if self.watch.is_armed() {
            self.watch(fd.as_fd())?;
        }
        self.tx().connect(Sender { fd: socket.fd, rings: socket.tx, umem: self.umem });
        if let Some(rings) = socket.rx {
            self.rx().connect(fd.clone(), rings);
            core.serve(self.want.queue, fd.as_fd())?;
        }
        Ok(())
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
