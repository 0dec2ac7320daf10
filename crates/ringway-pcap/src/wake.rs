//! The descriptors of a handle: one to wait on, one that says that packets are left, one that ends a wait.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{read, write};

use crate::sys;

/// What the reader of a handle has to look at before it goes on.
#[derive(Default)]
pub(crate) struct Orders(AtomicU32);

impl Orders {
    /// `pcap_breakloop` was called.
    pub(crate) const BREAK: u32 = 1;
    /// `pcap_close` was called, from a callback, a signal handler or another thread.
    pub(crate) const CLOSE: u32 = 2;
    /// There is another filter.
    pub(crate) const FILTER: u32 = 4;
    /// Another user of the port wants its rings.
    pub(crate) const SHARE: u32 = 8;

    pub(crate) fn give(&self, order: u32) {
        self.0.fetch_or(order, Ordering::Release);
    }

    /// Whether there is any, looked at for each packet.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn has(&self, order: u32) -> bool {
        self.0.load(Ordering::Acquire) & order != 0
    }

    /// Whether it was there; it is no longer.
    pub(crate) fn take(&self, order: u32) -> bool {
        self.any() && self.0.fetch_and(!order, Ordering::AcqRel) & order != 0
    }
}

pub(crate) struct Wake {
    /// What `pcap_get_selectable_fd` returns: readable when a member is.
    epoll: OwnedFd,
    /// Member of `epoll`: readable while packets are left in rings.
    more: OwnedFd,
    /// Readable from `pcap_breakloop` on, until it took effect.
    breaker: OwnedFd,
    /// Whether the program ever asked for the descriptor.
    watched: AtomicBool,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let [more, breaker] = [bell()?, bell()?];
        sys::epoll_add(epoll.as_raw_fd(), more.as_raw_fd())?;
        Ok(Self { epoll, more, breaker, watched: AtomicBool::new(false) })
    }

    pub(crate) fn selectable(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    pub(crate) fn breaker(&self) -> RawFd {
        self.breaker.as_raw_fd()
    }

    /// From now on the descriptor has to be readable whenever there is a packet. True the first time.
    pub(crate) fn watch(&self) -> bool {
        !self.watched.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::SeqCst)
    }

    /// Makes a ring's descriptor a member; it does no harm when it is one.
    pub(crate) fn include(&self, ring: RawFd) -> io::Result<()> {
        sys::epoll_add(self.epoll.as_raw_fd(), ring)
    }

    pub(crate) fn set_more(&self, on: bool) {
        set(&self.more, on);
    }

    /// Ends the wait of any thread. Only system calls: signal handlers come here.
    pub(crate) fn break_wait(&self) {
        set(&self.breaker, true);
    }

    pub(crate) fn unbreak(&self) {
        set(&self.breaker, false);
    }
}

fn bell() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// A full counter is readable and an empty one is not: both are what was asked for.
fn set(bell: &OwnedFd, on: bool) {
    if on {
        let _ = write(bell, &1u64.to_ne_bytes());
    } else {
        let _ = read(bell, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_readable(fd: &OwnedFd) -> bool {
        let mut fds = [sys::readable(fd.as_raw_fd())];
        sys::wait(&mut fds, 0).unwrap() && fds[0].revents & libc::POLLIN != 0
    }

    #[test]
    fn the_descriptor_stays_readable_while_there_is_more() {
        let wake = Wake::new().unwrap();
        let member = bell().unwrap();
        wake.include(member.as_raw_fd()).unwrap();
        wake.include(member.as_raw_fd()).unwrap();
        let readable = || is_readable(&wake.epoll);
        assert!(!readable());
        wake.set_more(true);
        assert!(readable() && readable());
        wake.set_more(false);
        assert!(!readable());
        set(&member, true);
        assert!(readable());
        wake.break_wait();
        assert!(is_readable(&wake.breaker));
        wake.unbreak();
        assert!(!is_readable(&wake.breaker));
    }

    #[test]
    fn orders_are_taken_once() {
        let orders = Orders::default();
        assert!(!orders.any() && !orders.take(Orders::BREAK));
        orders.give(Orders::BREAK);
        orders.give(Orders::CLOSE);
        assert!(orders.has(Orders::CLOSE) && orders.take(Orders::BREAK) && !orders.take(Orders::BREAK));
        assert!(orders.any());
    }
}
