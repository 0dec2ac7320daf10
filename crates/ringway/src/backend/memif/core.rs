//! What the rings of a port share: the connection, who keeps it up, and which link there is now.
//!
//! No thread stands behind a port. The rings look after the connection in their syncs, a few thousand times a second at most, and when
//! they go to sleep.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringway_memif::{Channel, Link, Reason, Terms};

use super::connector::Connector;
use super::interface::Interface;
use super::socket::Socket;
use crate::error::{Error, Result};
use crate::sys::fd::Epoll;
use crate::sys::time::monotonic_ns;

/// Time between two looks at the connection while frames are exchanged.
const LOOK_NS: u64 = 300_000;

/// How the port comes by its peers.
#[derive(Debug)]
pub(super) enum Way {
    /// It is an interface of a socket, which this process serves.
    Serve { socket: Arc<Socket>, id: u32, terms: Terms },
    /// It connects.
    Connect(Box<Mutex<Connector>>),
}

/// The state of a port.
#[derive(Debug)]
pub(super) struct Core {
    name: String,
    way: Way,
    /// Readable when there is something to do for the connection.
    control: Epoll,
    /// Counts how often the link went up or down.
    generation: AtomicU64,
    up: Mutex<Up>,
    looked_ns: AtomicU64,
    receivers: Box<[Receiver]>,
}

/// What is known of a receiving ring.
#[derive(Debug, Default)]
struct Receiver {
    /// The generation that it goes on with.
    seen: AtomicU64,
    /// Frames that it can no longer take, and has not counted.
    missed: AtomicU64,
}

/// The connection whose link is up, and why the last one ended.
#[derive(Debug, Default)]
struct Up {
    link: Option<Arc<Link>>,
    channel: Option<Channel>,
    last: Option<Reason>,
    /// The link of the peer that went last, and its generation: frames of it may wait for a ring that was not synced meanwhile.
    gone: Option<(u64, Arc<Link>)>,
}

impl Core {
    pub(super) fn new(name: String, way: Way, rings: u16) -> Result<Self> {
        let control = Epoll::new().map_err(|e| Error::io(&name, "epoll_create failed", e))?;
        let (generation, looked_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let receivers = (0..rings).map(|_| Receiver::default()).collect();
        Ok(Self { name, way, control, generation, up: Mutex::default(), looked_ns, receivers })
    }

    pub(super) fn control(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    #[inline]
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Acquire)
    }

    /// The link that is up now, and the generation that it belongs to.
    pub(super) fn link(&self) -> (u64, Option<Arc<Link>>) {
        let up = self.lock();
        (self.generation(), up.link.clone())
    }

    /// The next link after a generation that a receiver knows: the one of a peer that came and went meanwhile, or the one that is up.
    pub(super) fn link_after(&self, known: u64) -> (u64, Option<Arc<Link>>) {
        let up = self.lock();
        match &up.gone {
            Some((generation, link)) if *generation > known => (*generation, Some(link.clone())),
            _ => (self.generation(), up.link.clone()),
        }
    }

    /// Why the last connection ended, or the last attempt failed.
    pub(super) fn last(&self) -> Option<Reason> {
        self.lock().last.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Up> {
        // Each change is one assignment after the other of values that go with any others.
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ring found that the peer of this generation broke a rule.
    pub(super) fn break_off(&self, generation: u64, why: Reason) {
        let mut up = self.lock();
        if self.generation() == generation {
            self.disconnect(&mut up, why);
            // What such a peer sent is not looked at any more.
            up.gone = None;
        }
    }

    fn disconnect(&self, up: &mut Up, why: Reason) {
        if let Some(channel) = up.channel.take() {
            channel.say_last(&why);
        }
        let gone = up.link.take().map(|link| (self.generation(), link));
        if let Some((generation, link)) = std::mem::replace(&mut up.gone, gone) {
            self.miss(generation, &link);
        }
        up.last = Some(why);
        self.generation.fetch_add(1, Release);
    }

    /// Looks after the connection, unless somebody did a moment ago.
    #[inline]
    pub(super) fn look(&self) {
        let now = monotonic_ns();
        if now.wrapping_sub(self.looked_ns.load(Relaxed)) >= LOOK_NS {
            self.look_at(now);
        }
    }

    /// Looks after the connection.
    pub(super) fn look_now(&self) {
        self.look_at(monotonic_ns());
    }

    #[cold]
    fn look_at(&self, now: u64) {
        self.looked_ns.store(now, Relaxed);
        self.listen_to_peer();
        match &self.way {
            Way::Serve { socket, .. } => socket.serve(now),
            Way::Connect(connector) => {
                if !self.is_up()
                    && let Ok(mut connector) = connector.try_lock()
                {
                    connector.go_on(self, now);
                }
            }
        }
    }

    /// Nanoseconds until there is something to do for the connection that no descriptor tells.
    pub(super) fn next_ns(&self) -> u64 {
        match &self.way {
            Way::Connect(connector) if !self.is_up() => {
                connector.try_lock().map_or(u64::MAX, |connector| connector.next_ns(monotonic_ns()))
            }
            _ => u64::MAX,
        }
    }

    /// What serves the port, and whom it is connected to or why it is not.
    pub(super) fn status(&self) -> String {
        let state = match (self.link().1, self.last()) {
            (Some(link), _) => {
                let rings = link.c2s.len().max(link.s2c.len());
                let plural = if rings == 1 { "" } else { "s" };
                format!("connected to {:?} with {rings} ring{plural} each way", link.peer)
            }
            (None, Some(why)) => format!("not connected: {why}"),
            (None, None) => "waits for its peer".into(),
        };
        format!("{}, {state}", self.describe())
    }

    /// What serves the port.
    pub(super) fn describe(&self) -> String {
        let role = match &self.way {
            Way::Serve { .. } => "server",
            Way::Connect(_) => "client",
        };
        format!("memif: {role}")
    }

    /// A receiver goes on with the link of this generation, or with none. Returns the frames that it missed: of peers that came and went
    /// while it was not synced.
    pub(super) fn sees(&self, ring: usize, generation: u64) -> u64 {
        let receiver = &self.receivers[ring];
        receiver.seen.store(generation, Relaxed);
        receiver.missed.swap(0, Relaxed)
    }

    /// Notes the frames that a link has for receivers that never saw it, and now never will.
    fn miss(&self, generation: u64, link: &Link) {
        for (k, receiver) in self.receivers.iter().enumerate() {
            if receiver.seen.load(Relaxed) < generation
                && let Some(ring) = link.rx(k)
            {
                receiver.missed.fetch_add(ring.published_frames(link.role), Relaxed);
            }
        }
    }
}

impl Drop for Core {
    /// The port and all its rings are dropped: the peer gets to know at once.
    fn drop(&mut self) {
        if let Way::Serve { socket, id, .. } = &self.way {
            socket.remove(*id);
        }
        if let Some(channel) = self.lock().channel.take() {
            channel.say_last(&Reason::PortClosed);
        }
    }
}

impl Interface for Core {
    fn name(&self) -> &str {
        &self.name
    }

    fn terms(&self) -> Option<Terms> {
        match &self.way {
            Way::Serve { terms, .. } => Some(*terms),
            Way::Connect(_) => None,
        }
    }

    fn is_up(&self) -> bool {
        self.lock().link.is_some()
    }

    fn listen_to_peer(&self) {
        let mut up = self.lock();
        let Some(channel) = &up.channel else { return };
        let why = match channel.receive() {
            Ok(None) => return,
            Ok(Some((ringway_memif::Message::Disconnect { why, .. }, _))) => {
                Reason::Said(ringway_memif::text(&why))
            }
            Ok(Some(_)) => Reason::Order,
            Err(why) => why,
        };
        self.disconnect(&mut up, why);
    }

    fn watch(&self, fd: BorrowedFd<'_>) {
        // Without it the rings look after the connection by their timers.
        let _ = self.control.add(fd);
    }

    fn connect(&self, link: Link, channel: Channel) -> std::result::Result<(), (Reason, Channel)> {
        let mut up = self.lock();
        if up.link.is_some() {
            return Err((Reason::AlreadyConnected, channel));
        }
        self.watch(channel.as_fd());
        (up.link, up.channel) = (Some(Arc::new(link)), Some(channel));
        self.generation.fetch_add(1, Release);
        Ok(())
    }

    fn note(&self, why: Reason) {
        self.lock().last = Some(why);
    }
}
