//! `fault:`: a port that loses, doubles, reorders, changes and delays frames.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Progress;
use super::shadow_ring::ShadowRing;
use crate::abi::cursor;
use crate::abi::layout::MAX_CHAIN;
use crate::count::{Counters, PortCounters, Registration};
use crate::error::{Error, Result};
use crate::port::name::{FaultOptions, PortName, around};
use crate::port::{Control, Kind, Made, Open, OpenOptions, Setup, refuse_send_only, wrong_kind};
use crate::ring::{PortShape, RingView, RxRing, RxSync, Span, TxRing, TxSync};
use crate::sys::fd::{Epoll, Timer};
use crate::sys::time::monotonic_ns;

/// Ports called `fault:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "fault",
    goes_on: false,
    parse: around::fault,
    refuses: refuse_send_only,
    open: Open::Around {
        own_rings: true,
        open: |name, inside, options| match name {
            PortName::Fault { options: faults, .. } => open(name, faults, inside, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Puts faults around the port `inside`. A frame that is not delayed or changed is exchanged between the two pairs of
/// rings when they share a region, which all ports but pipes do.
fn open(name: &PortName, faults: &FaultOptions, inside: Made, options: &OpenOptions) -> Result<Made> {
    let region = options.region.clone().unwrap_or_else(|| inside.region.clone());
    let slots = inside.shape.slots.min(region.shared().layout.slots);
    let setup = Setup::within(name, region, PortShape { slots, ..inside.shape })?;
    let of = |used: bool| match used {
        true => faults.clone(),
        false => FaultOptions { seed: faults.seed, ..FaultOptions::default() },
    };
    let (rx_rates, tx_rates) = (of(faults.dir.rx()), of(faults.dir.tx()));
    let (tx_views, rx_views) = setup.views();

    let (mut rx, mut ended) = (Vec::new(), Vec::new());
    for ((k, view), inner) in (0..).zip(rx_views).zip(inside.rx) {
        let shadow = ShadowRing::new(rx_rates.clone(), 2 * u64::from(k), setup.registration.rx(k));
        let side = FaultRx::new(name, inner, shadow, inside.control.clone())?;
        ended.push(side.ended.clone());
        rx.push(setup.rx_ring(view, k, Box::new(side)));
    }
    let mut tx = Vec::new();
    for ((k, view), inner) in (0..).zip(tx_views).zip(inside.tx) {
        let shadow = ShadowRing::new(tx_rates.clone(), 2 * u64::from(k) + 1, setup.registration.tx(k));
        let side = FaultTx::new(name, inner, shadow, &view)?;
        tx.push(setup.tx_ring(view, k, Box::new(side)));
    }
    let longest = MAX_CHAIN.min(slots - 1) * setup.region.buf_size();
    inside.registration.describe(inside.shape.slots, &inside.control.describe());
    let control = Faulty {
        what: format!("fault: {faults}").trim_end_matches([',', ' ']).to_owned(),
        inside: inside.control,
        registration: inside.registration,
        ended,
    };
    Ok(setup.finish(rx, tx, inside.max_frame.min(longest), control))
}

/// What a side sleeps on: the ring inside and a timer.
#[derive(Debug)]
struct Sleep {
    port: String,
    poll: Epoll,
    timer: Timer,
    armed: bool,
}

impl Sleep {
    fn new(name: &PortName, inner: &[BorrowedFd<'_>]) -> Result<Self> {
        let port = name.to_string();
        let poll = Epoll::new().map_err(|e| Error::io(&port, "epoll_create failed", e))?;
        let timer = Timer::new().map_err(|e| Error::io(&port, "timerfd failed", e))?;
        for &fd in inner.iter().chain([&timer.as_fd()]) {
            poll.add(fd).map_err(|e| Error::io(&port, "epoll_ctl failed", e))?;
        }
        Ok(Self { port, poll, timer, armed: false })
    }

    /// Wakes after `ns`, besides when the ring inside does.
    fn arm(&mut self, ns: Option<u64>) -> Result<()> {
        self.armed |= ns.is_some();
        self.timer.set(ns).map_err(|e| Error::io(&self.port, "timerfd failed", e))
    }

    fn disarm(&mut self) -> Result<()> {
        if std::mem::take(&mut self.armed) { self.arm(None) } else { Ok(()) }
    }

    /// What the side sleeps on, for an epoll, with the descriptors of the ring inside.
    fn fds<'a>(&'a self, mut inner: Vec<BorrowedFd<'a>>) -> Vec<BorrowedFd<'a>> {
        inner.push(self.timer.as_fd());
        inner
    }
}

/// The receiving side.
#[derive(Debug)]
struct FaultRx {
    inner: RxRing,
    shadow: ShadowRing,
    tail: u32,
    sleep: Sleep,
    inside: Arc<dyn Control>,
    /// What the ring inside reported; told when all that came before is delivered.
    failure: Option<Error>,
    ended: Arc<AtomicBool>,
}

impl FaultRx {
    fn new(name: &PortName, inner: RxRing, shadow: ShadowRing, inside: Arc<dyn Control>) -> Result<Self> {
        let sleep = Sleep::new(name, &inner.fds())?;
        let ended = Arc::new(AtomicBool::new(false));
        Ok(Self { inner, shadow, tail: 0, sleep, inside, failure: None, ended })
    }

    /// Looks at the ring inside, unless it has failed.
    fn look(&mut self) {
        if self.failure.is_none() {
            self.failure = self.inner.sync().err();
        }
    }

    /// Whether all that came in is delivered.
    fn dry(&mut self) -> bool {
        self.shadow.is_empty() && self.inner.avail() == 0
    }
}

impl RxSync for FaultRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.sleep.disarm()?;
        self.look();
        let ended = self.inside.ended();
        let before = self.tail;
        let mut src = self.inner.ready();
        let mut dst = Span { view: ring, at: self.tail, end: ring.prev(head) };
        self.shadow.run(&mut src, &mut dst, monotonic_ns(), ended || self.failure.is_some());
        self.tail = dst.at;
        src.view.set_head(src.at);
        let dry = self.dry();
        self.ended.store(ended && dry, Relaxed);
        if dry
            && self.tail == before
            && let Some(e) = self.failure.take()
        {
            return Err(e);
        }
        Ok(self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        // Frames that were lost or wait here freed slots of the ring inside, which does not know yet.
        self.look();
        let wait = self.shadow.next_in(monotonic_ns());
        let more = self.inner.avail() > 0 && self.shadow.has_memory();
        if more || wait == Some(0) || (self.failure.is_some() && self.dry()) {
            return Ok(true);
        }
        self.sleep.arm(wait)?;
        if self.failure.is_some() || !self.shadow.has_memory() {
            return Ok(false);
        }
        self.inner.arm()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.sleep.poll.as_fd()
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.sleep.fds(self.inner.fds())
    }
}

/// The sending side. Frames that are delayed leave at a later sync: as long as there are any, and as long as frames
/// wait in the ring inside, slots count as pending.
#[derive(Debug)]
struct FaultTx {
    inner: TxRing,
    shadow: ShadowRing,
    passed: Progress,
    /// Frames between it and head were not looked at yet.
    head: u32,
    tail: u32,
    sleep: Sleep,
}

/// What the senders of a ring sleep on, if they ever do.
fn awaited(inner: &TxRing) -> Vec<BorrowedFd<'_>> {
    if inner.waits() { inner.fds() } else { Vec::new() }
}

impl FaultTx {
    fn new(name: &PortName, inner: TxRing, shadow: ShadowRing, view: &RingView) -> Result<Self> {
        let sleep = Sleep::new(name, &awaited(&inner))?;
        Ok(Self { inner, shadow, passed: Progress::new(0), head: 0, tail: view.num() - 1, sleep })
    }

    /// Hands on what can go now; true when the ring inside got something.
    fn hand_on(&mut self, ring: &RingView) -> bool {
        let mut src = Span { view: ring, at: self.passed.at, end: self.head };
        let mut dst = self.inner.room();
        let before = dst.at;
        self.shadow.run(&mut src, &mut dst, monotonic_ns(), false);
        dst.view.set_head(dst.at);
        self.passed.at = src.at;
        dst.at != before
    }

    /// Free slots, such that the other slots show frames on their way.
    fn free(&mut self, ring: &RingView) -> u32 {
        let own = ring.dist(self.passed.at, self.head);
        let waiting = own + self.inner.pending() + u32::from(!self.shadow.is_empty());
        // What the program was given stays its own.
        (ring.num() - 1).saturating_sub(waiting).max(ring.dist(self.head, self.tail))
    }
}

impl TxSync for FaultTx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        self.sleep.disarm()?;
        self.passed.start(ring, head);
        self.head = head;
        // The first sync may make the room that the rest needs.
        for _ in 0..2 {
            if !self.hand_on(ring) && self.inner.pending() == 0 {
                break;
            }
            self.inner.sync()?;
        }
        self.passed.done(head);
        self.tail = cursor::add(head, self.free(ring), ring.num());
        Ok(self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        let wait = self.shadow.next_in(monotonic_ns());
        if self.inner.pending() > 0 {
            // What is due has to wait for room, as all does.
            self.sleep.arm(wait.filter(|&ns| ns > 0))?;
            return self.inner.arm_pending();
        }
        let more = self.passed.at != self.head && self.shadow.has_memory();
        if more || wait.is_none_or(|ns| ns == 0) {
            return Ok(true);
        }
        self.sleep.arm(wait)?;
        Ok(false)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.sleep.poll.as_fd()
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.sleep.fds(awaited(&self.inner))
    }

    fn waits(&self) -> bool {
        true
    }
}

/// The port as a whole.
#[derive(Debug)]
struct Faulty {
    what: String,
    inside: Arc<dyn Control>,
    registration: Arc<Registration>,
    ended: Vec<Arc<AtomicBool>>,
}

impl Control for Faulty {
    /// One account of both ports: what they lost, and what neither holds.
    fn counters(&self, sum: &mut PortCounters) {
        let mut inside = self.registration.counters();
        self.inside.counters(&mut inside);
        sum.rx = chain(&inside.rx, &sum.rx, sum.rx.syncs);
        sum.tx = chain(&sum.tx, &inside.tx, sum.tx.syncs);
    }

    fn link_up(&self) -> Result<bool> {
        self.inside.link_up()
    }

    fn ended(&self) -> bool {
        match self.ended.is_empty() {
            true => self.inside.ended(),
            false => self.ended.iter().all(|e| e.load(Relaxed)),
        }
    }

    fn describe(&self) -> String {
        format!("{}; {}", self.what, self.inside.describe())
    }

    fn status(&self) -> String {
        format!("{}; {}", self.what, self.inside.status())
    }
}

/// Counters of two rings that frames pass one after the other. A frame between them has not entered yet.
fn chain(first: &Counters, second: &Counters, syncs: u64) -> Counters {
    let mut sum = *first;
    sum.add(second);
    sum.frames_in = sum.frames_in.wrapping_sub(first.frames_out);
    (sum.frames_out, sum.bytes_out, sum.syncs) = (second.frames_out, second.bytes_out, syncs);
    sum
}
