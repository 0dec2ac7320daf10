//! What a link has of its port, under its lock.

use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use ringway::ErrorKind;
use ringway_shim::{Coalesce, Rings, Share};

use crate::receiver::Receiver;
use crate::report;

/// An open port. Its rings are dropped before it is given back.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) rings: Rings,
    pub(crate) share: Share,
}

/// The part of a link that needs its lock.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    pub(crate) open: Option<Opened>,
    pub(super) users: u32,
    /// Forks that the process had seen when the port was opened.
    pub(super) born: u32,
    pub(super) unsent: u32,
    /// So many frames are sent at once.
    pub(super) limit: u32,
    pub(super) rule: Coalesce,
    /// A failure of frames that were taken over before; the next send tells it.
    pub(super) late: Option<c_int>,
    pub(super) looked: Option<Instant>,
    /// Why the port could not be opened, as it was said last.
    pub(super) said: String,
    pub(crate) receivers: Vec<Receiver>,
    /// How many of them look at what other sockets send.
    pub(crate) taps: usize,
    pub(crate) made: u64,
    pub(crate) turn: usize,
    pub(crate) handed: usize,
    /// Frames that have come; it wraps.
    pub(crate) arrived: u32,
    /// Threads that sleep until frames come.
    pub(crate) asleep: u32,
    pub(super) lost: u64,
    pub(crate) scratch: Vec<u8>,
}

impl LinkState {
    /// Gives the rings of the port back, as it has other users too.
    pub(super) fn share(&mut self) {
        let Some(open) = self.open.as_mut().filter(|o| !o.rings.copies) else { return };
        match open.share.give(std::mem::take(&mut open.rings), false) {
            Ok(rings) => open.rings = rings,
            Err(e) => report::say(&e.to_string()),
        }
        let fds = self.fds();
        self.receivers.iter().for_each(|r| r.also(&fds));
    }

    /// A failure of earlier frames, once.
    pub(crate) fn late(&mut self) -> Result<(), c_int> {
        self.late.take().map_or(Ok(()), Err)
    }

    /// Fails while the link is down, as the kernel's socket would. Looks ten times a second at most.
    pub(super) fn check_link(&mut self) -> Result<(), c_int> {
        if self.looked.is_some_and(|t| t.elapsed() < Duration::from_millis(100)) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        match self.open.as_ref().map(|o| o.share.link_up()) {
            Some(Ok(false)) => Err(libc::ENETDOWN),
            Some(Err(e)) => Err(errno_of(e.kind())),
            _ => Ok(()),
        }
    }

    /// Frames that the port lost before its sockets could see them, since the last call.
    pub(crate) fn lost(&mut self) -> u32 {
        let all = self.open.as_ref().map_or(0, |o| dropped(&o.share));
        let new = all.saturating_sub(self.lost);
        self.lost = all;
        u32::try_from(new).unwrap_or(u32::MAX)
    }

    /// The descriptors that wake a receiver.
    pub(crate) fn fds(&self) -> Vec<RawFd> {
        let Some(Opened { rings, share, .. }) = &self.open else { return Vec::new() };
        let queue = rings.rx.iter().filter(|_| rings.copies).map(|rx| rx.as_fd().as_raw_fd());
        std::iter::once(share.fd()).chain(queue).collect()
    }
}

/// Frames that the port lost, or the queue that the link has of it.
pub(super) fn dropped(share: &Share) -> u64 {
    share.counters().counters().rx.dropped() + share.lost()
}

/// What the kernel's socket would answer.
pub(crate) fn errno_of(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::BadName | ErrorKind::Invalid => libc::EINVAL,
        ErrorKind::NotFound => libc::ENODEV,
        ErrorKind::Busy => libc::EBUSY,
        ErrorKind::Denied => libc::EPERM,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::Gone => libc::ENXIO,
        ErrorKind::LinkDown => libc::ENETDOWN,
        _ => libc::EIO,
    }
}
