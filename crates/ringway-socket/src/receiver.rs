//! What a socket receives of a port: its filter, its queue, its counts.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use crate::filter::{self, FilterContext, Insn};
use crate::frame::{self, Frame, Meta};
use crate::sys::kernel;
use crate::tpacket::RxMap;

/// Bytes of frames that wait for a socket beside other sockets, if `SO_RCVBUF` says no more.
const LEAST_BUFFER: usize = 1 << 18;

/// What a socket counts for `PACKET_STATISTICS`, since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: u32,
    pub(crate) drops: u32,
}

/// What a socket wants to receive, and how it looks there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReceiveSpec {
    /// In host order; [`frame::ALL`] for all.
    pub(crate) protocol: u16,
    pub(crate) context: FilterContext,
    /// Address of the interface.
    pub(crate) own: [u8; 6],
}

/// A socket that receives from a port. It lies in the port's link, under its lock.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) id: u64,
    pub(crate) spec: ReceiveSpec,
    pub(crate) filter: Option<Arc<[Insn]>>,
    pub(crate) fanout: Option<Fanout>,
    /// `PACKET_IGNORE_OUTGOING`.
    pub(crate) ignores_sent: bool,
    /// The mapped ring that takes the place of the queue.
    pub(crate) map: Option<RxMap>,
    queue: VecDeque<(Vec<u8>, Meta)>,
    waiting: usize,
    limit: usize,
    counts: Counts,
    /// The time of the last frame that was received.
    pub(crate) received: Duration,
    /// Readable while frames wait that another thread has found, or that an epoll is to tell of.
    alarm: OwnedFd,
    alarmed: bool,
    /// Frames that had come when the alarm last rang for who waits for edges.
    rung_at: u32,
    /// Readable when the alarm is, or the port.
    watch: OwnedFd,
}

/// A share in the frames of a group of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fanout {
    pub(crate) group: u16,
    /// `PACKET_FANOUT_HASH` and the like.
    pub(crate) mode: u32,
}

impl Receiver {
    /// For a socket that sleeps on `port`.
    pub(crate) fn new(id: u64, spec: ReceiveSpec, port: &[RawFd], buffer: usize) -> Result<Self, c_int> {
        let alarm = kernel::eventfd()?;
        let watch = kernel::watch(&[port, &[alarm.as_raw_fd()]].concat())?;
        let mut made = Self {
            id,
            spec,
            filter: None,
            fanout: None,
            ignores_sent: false,
            map: None,
            queue: VecDeque::new(),
            waiting: 0,
            limit: 0,
            counts: Counts::default(),
            received: Duration::ZERO,
            alarm,
            alarmed: false,
            rung_at: 0,
            watch,
        };
        made.set_limit(buffer);
        Ok(made)
    }

    /// Bytes of frames that may wait.
    pub(crate) fn set_limit(&mut self, buffer: usize) {
        self.limit = buffer.max(LEAST_BUFFER);
    }

    /// Sleeps on another port from now on.
    pub(crate) fn renew(&mut self, port: &[RawFd]) {
        if let Ok(watch) = kernel::watch(&[port, &[self.alarm.as_raw_fd()]].concat()) {
            self.watch = watch;
        }
    }

    /// Sleeps on these descriptors too; it does no harm when it does.
    pub(crate) fn also(&self, fds: &[RawFd]) {
        for &fd in fds {
            kernel::epoll(self.watch.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN as u32, 0);
        }
    }

    pub(crate) fn watch(&self) -> RawFd {
        self.watch.as_raw_fd()
    }

    /// Whether it sees what other sockets send.
    pub(crate) fn is_tap(&self) -> bool {
        let refused = self.filter.as_ref().is_some_and(|f| filter::refuses_sent(f));
        self.spec.protocol == frame::ALL && self.fanout.is_none() && !self.ignores_sent && !refused
    }

    /// Bytes of the frame that the filter wants; `None` when the socket does not want it.
    #[inline]
    pub(crate) fn wants(&self, frame: &Frame<'_>) -> Option<usize> {
        if self.spec.protocol != frame::ALL && self.spec.protocol != frame.meta.protocol {
            return None;
        }
        let len = frame.bytes.len();
        let Some(program) = &self.filter else { return Some(len) };
        let hide = if self.spec.context.dgram { frame::HEADER } else { 0 };
        match filter::run(program, frame, self.spec.context) as usize {
            0 => None,
            snap => Some(len.min(snap.saturating_add(hide))),
        }
    }

    /// Keeps a frame that is wanted: in the mapped ring, or in the queue.
    pub(crate) fn keep(&mut self, frame: &Frame<'_>) {
        self.count(1);
        if let Some(map) = &mut self.map {
            if !map.put(frame) {
                self.counts.drops += 1;
            }
            return;
        }
        let bytes = &frame.bytes[..frame.meta.snap];
        // What a frame costs besides its bytes, so that short ones are bounded too.
        let cost = bytes.len() + 128;
        if self.waiting + cost > self.limit {
            self.counts.drops += 1;
            return;
        }
        self.waiting += cost;
        // The bytes behind the snapshot are not kept, but their number is.
        let mut held = Vec::with_capacity(frame.bytes.len());
        held.extend_from_slice(bytes);
        held.resize(frame.bytes.len(), 0);
        self.queue.push_back((held, frame.meta));
    }

    /// Counts a frame that did not have to be kept.
    #[inline]
    pub(crate) fn count(&mut self, n: u32) {
        self.counts.packets = self.counts.packets.wrapping_add(n);
    }

    pub(crate) fn lost(&mut self, n: u32) {
        self.counts.packets = self.counts.packets.wrapping_add(n);
        self.counts.drops = self.counts.drops.wrapping_add(n);
    }

    /// The counts since the last call.
    pub(crate) fn counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Whether a call would find something without a look at the port.
    pub(crate) fn has(&mut self) -> bool {
        self.map.as_mut().map_or(!self.queue.is_empty(), RxMap::readable)
    }

    /// The oldest frame of the queue.
    pub(crate) fn front<R>(&mut self, leave: bool, f: impl FnOnce(&Frame<'_>) -> R) -> Option<R> {
        let (bytes, meta) = self.queue.front()?;
        let out = f(&Frame { bytes, meta: *meta });
        if !leave {
            let len = meta.snap + 128;
            self.waiting = self.waiting.saturating_sub(len);
            self.queue.pop_front();
        }
        Some(out)
    }

    /// Makes the descriptor readable until a call finds nothing. With the number of frames that have come, does so for who
    /// waits for edges: if it is another one than it was; tells whether.
    pub(crate) fn ring(&mut self, arrived: Option<u32>) -> bool {
        let due = match arrived {
            Some(now) => std::mem::replace(&mut self.rung_at, now) != now,
            None => !self.alarmed,
        };
        if due {
            self.alarmed = true;
            kernel::ring(&self.alarm);
        }
        due
    }

    /// Nothing waits: the descriptor is readable no more.
    pub(crate) fn quiet(&mut self) {
        if self.alarmed && !self.has() {
            self.alarmed = false;
            kernel::silence(&self.alarm);
        }
    }
}
