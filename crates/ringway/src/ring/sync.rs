//! The other side of a ring, which a backend is. It is called once per sync, never per frame.

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use super::view::RingView;
use crate::error::Result;

/// The other side of an rx ring.
pub(crate) trait RxSync: Send + Debug {
    /// Takes back the slots before `head`, which is checked; returns the new tail.
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32>;

    /// Another process synced the ring since, up to `tail`: goes on from there. Backends whose rings no two processes share leave it.
    fn resume(&mut self, _ring: &RingView, _tail: u32) {}

    /// Makes [`fd`](Self::fd) readable when a frame arrives, until the next sync; true when one is there already.
    fn arm(&mut self, ring: &RingView) -> Result<bool>;

    /// The descriptor to sleep on.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Descriptors that together do what [`fd`](Self::fd) does, for an epoll: one in another only goes so deep.
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fd()]
    }
}

/// The other side of a tx ring.
pub(crate) trait TxSync: Send + Debug {
    /// Sends the slots before `head`, which is checked; returns the new tail.
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32>;

    /// As [`RxSync::resume`].
    fn resume(&mut self, _ring: &RingView, _tail: u32) {}

    /// Makes [`fd`](Self::fd) readable when a slot becomes free, until the next sync; true when one is already.
    fn arm(&mut self, ring: &RingView) -> Result<bool>;

    /// The descriptor to sleep on.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Whether slots may say what is left to be done on their frame.
    fn takes_offload(&self) -> bool {
        false
    }

    /// As [`RxSync::fds`].
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fd()]
    }

    /// Whether [`fd`](Self::fd) is ever unreadable: a sender may have to wait for the other side.
    fn waits(&self) -> bool {
        false
    }
}
