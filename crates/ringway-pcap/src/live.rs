//! An active handle: its port, apart in a receiving and a sending half.

use std::ffi::c_int;
use std::fmt;
use std::os::fd::{OwnedFd, RawFd};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringway::{
    CounterWatch, Error, ErrorKind, NicRings, OpenOptions, Port, PortName, Result, time::monotonic_ns,
};
use ringway_shim::Coalesce;
use ringway_shim::{Holder, Rings, Share};

use crate::devices::Target;
use crate::filter::Program;
use crate::guarded::{Guard, Guarded};
use crate::handle::{Config, snaplen};
use crate::receiver::{Receiver, Wanted};
use crate::sender::{Refused, Sender};
use crate::types::{ETHERNET, Header, NANO, Stat};
use crate::wake::{Orders, Wake};
use crate::{flusher, sys, tally};

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

/// The interface behind a port.
struct Interface {
    name: String,
    /// Packets that the interface had lost before.
    lost_before: u64,
    /// When it was last looked at, monotonic ns, and whether it was down then.
    looked_ns: AtomicU64,
    down: AtomicBool,
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
        let snaplen = snaplen(config.snaplen);
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
            if self.orders.take(Orders::SHARE) {
                // If it was rung to break the loop too, that is seen below.
                self.wake.unbreak();
                receiver.share();
            }
            if self.orders.take(Orders::FILTER) {
                let (filter, wanted) = self.selection().clone();
                receiver.set_filter(filter, wanted);
            }
            if self.broken() {
                return Read::Broken;
            }
            let pass = match receiver.pass(limit, &self.orders, each) {
                Ok(pass) => pass,
                Err(e) => return Read::Failed(receiver.told(&e)),
            };
            self.received.fetch_add(pass.delivered.into(), Relaxed);
            if self.broken() {
                return Read::Broken;
            }
            if pass.delivered > 0 {
                return Read::Packets(pass.delivered);
            }
            if !pass.seen
                && let Some(e) = receiver.failure()
            {
                return Read::Failed(receiver.told(&e));
            }
            // Who waits for the descriptor itself was woken by frames that the filter refused: it must not block here.
            if nonblock || pass.seen && !patient && self.wake.is_watched() {
                return Read::Nothing;
            }
            // A failure at the end of what was seen is told by the next pass.
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

    pub(crate) fn send(&self, packet: &[u8]) -> std::result::Result<(), Refused> {
        if self.interface.as_ref().is_some_and(Interface::is_down) {
            return Err(Refused { errno: libc::ENETDOWN, text: None });
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
        let lost = self.interface.as_ref().map_or(0, |i| lost(&i.name).wrapping_sub(i.lost_before));
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

/// What a handle reads and sends by.
struct Opened {
    share: Share,
    rings: Rings,
    /// Copies of what the host sends.
    host: Option<Port>,
    interface: Option<Interface>,
    /// Tells of changes of the interface.
    attending: Option<OwnedFd>,
}

impl Opened {
    fn new(target: &Target, ready: Option<Copies>, config: &Config) -> Result<Self> {
        // Before all else it is opened: who may not even do that is told so.
        let larger = larger(config.buffer);
        let (share, rings, host, name) = match target {
            Target::Port(name) => {
                let parsed = name.parse()?;
                let of_interface = larger.filter(|_| interface(&parsed).is_some());
                let (share, rings) = Share::open(name, &options(of_interface), true)?;
                (share, rings, None, parsed)
            }
            Target::Copies(device) => {
                // Those that are open have no more room than usual, and in their place there is none for others.
                let ready = ready.filter(|_| larger.is_none());
                let Copies { port, host } =
                    ready.map_or_else(|| Copies::with(options(larger), device), Ok)?;
                let (share, rings) = Share::alone(port);
                (share, rings, Some(host), PortName::from_str(&format!("ebpf:{device}"))?)
            }
        };
        let Some(name) = interface(&name) else {
            return Ok(Self { share, rings, host, interface: None, attending: None });
        };
        let interface = Interface::new(name)?;
        let attending = interface.attend(config.promisc)?;
        Ok(Self { share, rings, host, interface: Some(interface), attending })
    }
}

/// Ports that have copies of what an interface receives, and of what the host sends there.
pub(crate) struct Copies {
    port: Port,
    host: Port,
}

impl Copies {
    pub(crate) fn open(interface: &str) -> Result<Self> {
        Self::with(options(None), interface)
    }

    fn with(options: OpenOptions, interface: &str) -> Result<Self> {
        let options = options.copy(true);
        let host = options.open(&format!("ebpf:{interface}^"))?;
        Ok(Self { port: options.open(&format!("ebpf:{interface}"))?, host })
    }
}

/// Slots for a buffer of that many bytes, if the usual ones have less room. The ports of switches and pipes have theirs already.
fn larger(buffer: c_int) -> Option<u32> {
    const SLOT: u32 = 2048;
    const USUAL: u32 = 2048;
    const MOST: u32 = 16_384;
    u32::try_from(buffer).ok().map(|bytes| (bytes / SLOT).min(MOST)).filter(|&slots| slots > USUAL)
}

/// The program says by pcap_set_promisc(3) whether the interface is promiscuous; see [`Interface::attend`].
fn options(slots: Option<u32>) -> OpenOptions {
    let options = OpenOptions::new().promiscuous(false);
    slots.map_or_else(|| options.clone(), |slots| options.clone().slots(slots))
}

fn dropped(counters: &[CounterWatch]) -> u64 {
    counters.iter().map(|c| c.counters().rx.dropped()).sum()
}

impl Interface {
    fn new(name: &str) -> Result<Self> {
        if !sys::is_up(name) {
            let cure = format!("set it up with `ip link set {name} up`");
            return Err(Error::new(ErrorKind::LinkDown, name, "the interface is down").cure(cure));
        }
        let (looked_ns, down) = (AtomicU64::new(monotonic_ns()), AtomicBool::new(false));
        Ok(Self { name: name.to_owned(), lost_before: lost(name), looked_ns, down })
    }

    /// Whether it is down. Looks ten times a second at most.
    fn is_down(&self) -> bool {
        let now = monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) >= 100_000_000 {
            self.looked_ns.store(now, Relaxed);
            self.down.store(!sys::is_up(&self.name), Relaxed);
        }
        self.down.load(Relaxed)
    }

    /// Without the right to attend, reads look at the interface from time to time.
    fn attend(&self, promiscuous: bool) -> Result<Option<OwnedFd>> {
        match sys::attend(&self.name, promiscuous) {
            Ok(socket) => Ok(Some(socket)),
            Err(_) if !promiscuous => Ok(None),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => {
                Err(Error::new(ErrorKind::NotFound, &self.name, "no such interface"))
            }
            Err(e) => Err(Error::io(&self.name, "promiscuous mode refused", e)),
        }
    }
}

/// The interface that a port receives from. Host rings receive what the host sends: nothing of it is the interface's.
fn interface(name: &PortName) -> Option<&str> {
    match name {
        PortName::Auto { interface, rings }
        | PortName::Ebpf { interface, rings }
        | PortName::Xdp { interface, rings }
        | PortName::Packet { interface, rings } => (*rings != NicRings::Host).then_some(interface),
        PortName::Tap { port, .. } | PortName::Fault { port, .. } | PortName::Trace { port, .. } => {
            interface(port)
        }
        _ => None,
    }
}

/// Packets that the interface itself lost, as libpcap counts them.
fn lost(interface: &str) -> u64 {
    let read = |what| {
        let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/statistics/{what}"));
        text.ok().and_then(|t| t.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    read("rx_missed_errors") + read("rx_fifo_errors")
}
