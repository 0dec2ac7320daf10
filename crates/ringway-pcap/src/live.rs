//! An active handle: its port, apart in a receiving and a sending half.

use std::ffi::c_int;
use std::fmt;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringway::{CounterWatch, Error, Port, Result};
use ringway_shim::{Coalesce, Holder, Share};

use crate::config::Config;
use crate::devices::Target;
use crate::filter::Program;
use crate::guarded::{Guard, Guarded};
use crate::interface::Interface;
use crate::opening::{Copies, Opened};
use crate::receiver::{Pass, Receiver, Wanted};
use crate::sender::{Refused, Sender};
use crate::types::{ETHERNET, Header, NANO, Stat};
use crate::wake::{Orders, Wake};
use crate::{flusher, tally};

pub(crate) struct Live {
    pub(crate) snaplen: u32,
    pub(crate) datalink: AtomicI32,
    pub(crate) nonblock: AtomicBool,
    pub(crate) buffer: c_int,
    /// `None` waits for ever.
    timeout: Option<Duration>,
    receiver: Guarded<Receiver>,
    sender: Arc<Sender>,
    wake: Wake,
    orders: Orders,
    selection: Mutex<(Option<Arc<Program>>, Wanted)>,
    counters: Vec<CounterWatch>,
    /// Drops that the port had counted before.
    dropped_before: u64,
    /// Packets that were handed out.
    received: AtomicU64,
    interface: Option<Interface>,
    share: Arc<Share>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("share", &self.share).finish_non_exhaustive()
    }
}

/// How one read ended.
#[derive(Debug)]
pub(crate) enum Read {
    /// That many packets were handed out, at least one.
    Packets(u32),
    /// None came in time, or the handle does not block.
    Nothing,
    /// `pcap_breakloop`.
    Broken,
    /// Nothing will ever come again.
    Ended,
    Failed(String),
}

impl Live {
    pub(crate) fn open(target: &Target, ready: Option<Copies>, config: &Config) -> Result<Arc<Self>> {
        let Opened { share, mut rings, host, interface, attending } = Opened::new(target, ready, config)?;
        let share = Arc::new(share);
        let failed = |e| Error::io(&share.info().name, "no descriptor for the handle", e);
        let wake = Wake::new().map_err(failed)?;
        let counters = [Some(share.counters().clone()), host.as_ref().map(Port::watch)];
        let counters: Vec<_> = counters.into_iter().flatten().collect();
        let sender = Sender::new(share.clone(), rings.tx.take(), Coalesce::of_environment());
        let snaplen = config.snaplen();
        let nanos = config.precision == NANO;
        let receiver = Receiver::new(share.clone(), rings, host, attending, snaplen, nanos);
        let live = Arc::new(Self {
            snaplen,
            datalink: AtomicI32::new(ETHERNET),
            nonblock: AtomicBool::new(config.nonblock || config.timeout < 0),
            buffer: if config.buffer > 0 { config.buffer } else { 2 << 20 },
            timeout: u64::try_from(config.timeout).ok().filter(|&ms| ms > 0).map(Duration::from_millis),
            receiver: Guarded::new(receiver),
            sender,
            wake,
            orders: Orders::default(),
            selection: Mutex::new((None, Wanted { incoming: true, outgoing: true })),
            dropped_before: dropped(&counters),
            counters,
            received: AtomicU64::new(0),
            interface,
            share,
        });
        let holder: Arc<dyn Holder> = live.clone();
        if live.share.set_holder(Arc::downgrade(&holder)) {
            live.recall();
        }
        Ok(live)
    }

    /// Hands out packets, `limit` at most: waits for the first, and takes what is there with it. With `patient` neither the
    /// timeout nor non-blocking mode ends it.
    pub(crate) fn read(&self, limit: u32, patient: bool, mut each: impl FnMut(&Header, &[u8])) -> Read {
        let Some(mut receiver) = self.receiver.lock() else {
            return Read::Failed("this handle is being read by the same thread".into());
        };
        let read = self.read_with(&mut receiver, limit, patient, &mut each);
        let watched = self.wake.is_watched();
        self.settle(&mut receiver);
        let drained = receiver.is_drained();
        drop(receiver);
        // The answers to what was read need not wait for more.
        if drained {
            flusher::flush_all();
        }
        self.share_as_ordered();
        if !watched {
            self.settle_if_watched();
        }
        tally::READS.add(1);
        if let Read::Packets(n) = read {
            tally::RECEIVED.add(n.into());
        }
        read
    }

    fn read_with(
        &self,
        receiver: &mut Receiver,
        limit: u32,
        patient: bool,
        each: &mut impl FnMut(&Header, &[u8]),
    ) -> Read {
        let nonblock = self.nonblock.load(Relaxed) && !patient;
        let timeout = self.timeout.filter(|_| !patient);
        let mut deadline = None;
        receiver.is_held = false;
        loop {
            self.follow_orders(receiver);
            if self.broken() {
                return Read::Broken;
            }
            let pass = match receiver.pass(limit, &self.orders, each) {
                Ok(pass) => pass,
                Err(e) => return Read::Failed(receiver.told(&e)),
            };
            self.received.fetch_add(pass.delivered.into(), Relaxed);
            if let Some(read) = self.end_of_pass(receiver, pass) {
                return read;
            }
            // A program that waits for the descriptor itself was woken by frames that the filter refused: it must not block here.
            if nonblock || pass.seen && !patient && self.wake.is_watched() {
                return Read::Nothing;
            }
            // The next pass reports a failure at the end of what was seen.
            if !pass.seen && receiver.ended() {
                return Read::Ended;
            }
            let left = match timeout.map(|t| *deadline.get_or_insert_with(|| Instant::now() + t)) {
                None => None,
                Some(at) => match at.checked_duration_since(Instant::now()) {
                    None => return Read::Nothing,
                    left => left,
                },
            };
            flusher::flush_all();
            if !pass.seen
                && let Err(e) = receiver.wait(&self.wake, left)
            {
                return Read::Failed(receiver.told(&e));
            }
        }
    }

    /// Carries out orders that concern the receiver.
    #[inline]
    fn follow_orders(&self, receiver: &mut Receiver) {
        if self.orders.take(Orders::SHARE) {
            // If the bell was rung to break the loop too, `broken` sees that.
            self.wake.unbreak();
            receiver.share();
        }
        if self.orders.take(Orders::FILTER) {
            let (filter, wanted) = self.selection().clone();
            receiver.set_filter(filter, wanted);
        }
    }

    /// The result of a read that a look at the rings ends.
    #[inline]
    fn end_of_pass(&self, receiver: &mut Receiver, pass: Pass) -> Option<Read> {
        if self.broken() {
            return Some(Read::Broken);
        }
        if pass.delivered > 0 {
            return Some(Read::Packets(pass.delivered));
        }
        if pass.seen {
            return None;
        }
        receiver.failure().map(|e| Read::Failed(receiver.told(&e)))
    }

    /// Whether the reader has to end; an order to break is then carried out.
    fn broken(&self) -> bool {
        if !self.orders.any() {
            return false;
        }
        if self.orders.take(Orders::BREAK) {
            self.wake.unbreak();
            return true;
        }
        self.orders.has(Orders::CLOSE)
    }

    /// The order to share the port may have come after the last look of a read.
    fn share_as_ordered(&self) {
        if self.orders.has(Orders::SHARE)
            && let Some(mut receiver) = self.receiver.try_lock()
            && !receiver.is_held
            && self.orders.take(Orders::SHARE)
        {
            self.wake.unbreak();
            receiver.share();
            self.settle(&mut receiver);
            drop(receiver);
            if self.orders.has(Orders::BREAK) {
                self.wake.break_wait();
            }
        }
    }

    fn settle(&self, receiver: &mut Receiver) {
        if self.wake.is_watched() {
            receiver.settle(&self.wake);
        }
    }

    /// For who began to watch while another thread read: whichever of the two comes last finds the receiver free.
    fn settle_if_watched(&self) {
        if self.wake.is_watched()
            && let Some(mut receiver) = self.receiver.try_lock()
        {
            self.settle(&mut receiver);
        }
    }

    /// Ends the read that goes on, or the next one. Safe in a signal handler.
    pub(crate) fn break_loop(&self) {
        self.orders.give(Orders::BREAK);
        self.wake.break_wait();
    }

    /// Ends reads for good.
    pub(crate) fn close(&self) {
        self.orders.give(Orders::CLOSE);
        self.wake.break_wait();
    }

    /// The descriptor that is readable whenever a read would find a packet.
    pub(crate) fn selectable(&self) -> RawFd {
        if self.wake.watch() {
            self.settle_if_watched();
        }
        self.wake.selectable()
    }

    /// The receiving half, for what outlives a read; `None` while the same thread reads.
    pub(crate) fn receiver(&self) -> Option<Guard<'_, Receiver>> {
        self.receiver.lock()
    }

    pub(crate) fn send(&self, packet: &[u8]) -> std::result::Result<(), Box<Refused>> {
        if self.interface.as_ref().is_some_and(Interface::is_down) {
            return Err(Refused::new(libc::ENETDOWN, None));
        }
        self.sender.send(packet)?;
        tally::SENT.add(1);
        Ok(())
    }

    pub(crate) fn set_filter(&self, program: Arc<Program>) {
        self.selection().0 = Some(program);
        self.orders.give(Orders::FILTER);
    }

    /// Of what a handle sends itself nothing ever comes back, as with a packet socket of one's own.
    pub(crate) fn set_wanted(&self, wanted: Wanted) {
        self.selection().1 = wanted;
        self.orders.give(Orders::FILTER);
    }

    fn selection(&self) -> MutexGuard<'_, (Option<Arc<Program>>, Wanted)> {
        self.selection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stats(&self) -> Stat {
        let dropped =
            dropped(&self.counters).wrapping_sub(self.dropped_before).wrapping_add(self.share.lost());
        let lost = self.interface.as_ref().map_or(0, Interface::lost);
        // As the kernel counts for libpcap, what was dropped for want of room was received.
        let received = self.received.load(Relaxed).wrapping_add(dropped);
        Stat { recv: received as u32, drop: dropped as u32, ifdrop: lost as u32 }
    }
}

impl Holder for Live {
    fn recall(&self) {
        self.sender.give_ring();
        self.orders.give(Orders::SHARE);
        self.wake.break_wait();
        self.share_as_ordered();
    }
}

fn dropped(counters: &[CounterWatch]) -> u64 {
    counters.iter().map(|c| c.counters().rx.dropped()).sum()
}
