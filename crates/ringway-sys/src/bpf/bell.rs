//! Doorbells.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use crate::mmap::Mmap;

/// A `BPF_MAP_TYPE_RINGBUF` used as a doorbell: programs put a record in, its descriptor becomes readable.
#[derive(Debug)]
pub struct Bell {
    map: OwnedFd,
    consumer: Mmap,
    producer: Mmap,
}

impl Bell {
    /// Maps the ring buffer `map`.
    pub fn new(map: OwnedFd) -> io::Result<Self> {
        // The consumer's position is on the first page, the producer's on the second, which is read-only
        // (kernel/bpf/ringbuf.c, ringbuf_map_mmap_user).
        let consumer = Mmap::shared(map.as_fd(), 4096, 0, true)?;
        let producer = Mmap::shared(map.as_fd(), 4096, 4096, false)?;
        Ok(Self { map, consumer, producer })
    }

    /// Makes the descriptor unreadable again.
    pub fn drain(&self) {
        let end = self.producer.u64(0).load(Acquire);
        self.consumer.u64(0).store(end, Release);
    }

    /// Sleeps until the descriptor is readable, a signal came or the time, in whole milliseconds, is over.
    pub fn wait(&self, limit: Duration) -> io::Result<()> {
        let mut fd = libc::pollfd { fd: self.map.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = limit.as_millis().min(i32::MAX as u128) as i32;
        // SAFETY: one descriptor's record is passed, which lives across the call.
        if unsafe { libc::poll(&raw mut fd, 1, ms) } >= 0 {
            return Ok(());
        }
        let e = io::Error::last_os_error();
        if e.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(e) }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
