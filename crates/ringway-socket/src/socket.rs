//! A packet socket of the program: what it asked for, and where its frames go.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringway_shim::Coalesce;

use crate::config::Config;
use crate::filler;
use crate::filter::{About, Insn};
use crate::link::{Inner, Link, Use};
use crate::receiver::{Fanout, Wish};
use crate::report;
use crate::sys::ring::Mapping;
use crate::sys::{kernel, table};
use crate::tpacket::{Geometry, RxMap, TxMap};

/// A protocol that no frame has (IEEE 802 reserves it): the kernel's socket of a mapped interface is bound to it, so that
/// it receives nothing, and everything that needs a bound socket works.
const NOTHING: u16 = 0xffff;

/// How long a stream stops when it leaves the kernel's socket for a port.
const CHANGE: Duration = Duration::from_millis(1);

pub(crate) const NO_EBPF: &str =
    "a packet socket of a mapped interface can't run an eBPF filter; attach a classic one";

/// Events that frames to read cause, and those that go with them to the descriptor that tells of frames.
pub(crate) const INPUT: u32 = (libc::EPOLLIN | libc::EPOLLRDNORM) as u32;
pub(crate) const READ: u32 = INPUT | (libc::EPOLLET | libc::EPOLLONESHOT | libc::EPOLLWAKEUP) as u32;

static SOCKETS: Mutex<Vec<&'static Socket>> = Mutex::new(Vec::new());

/// All sockets that there ever were; they are used again after they were closed.
pub(crate) fn all() -> MutexGuard<'static, Vec<&'static Socket>> {
    SOCKETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Mappings of rings that programs have.
static MAPS: AtomicU32 = AtomicU32::new(0);

/// Whether `munmap` has to look for rings.
#[inline]
pub(crate) fn maps() -> u32 {
    MAPS.load(Acquire)
}

/// Whether waiting has to look at sockets that receive from ports: how many there are.
static RECEIVING: AtomicU32 = AtomicU32::new(0);

#[inline]
pub(crate) fn receiving() -> u32 {
    RECEIVING.load(Acquire)
}

/// A packet socket. Descriptors that were made by dup are names of one.
#[derive(Debug, Default)]
pub(crate) struct Socket {
    names: AtomicU32,
    /// Whether its frames come from a port: read without the lock.
    receives: AtomicBool,
    /// Whether the kernel's socket is in a network namespace of its own, as the process may have none where it is.
    isolated: AtomicBool,
    /// Whether calls never sleep.
    nonblocking: AtomicBool,
    /// A failure that ended a call which had frames already: the next one tells it. 0 for none.
    late: AtomicI32,
    state: Mutex<State>,
}

/// What needs the lock of a socket.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) dgram: bool,
    /// As told to `socket` or `bind`, in host order.
    pub(crate) protocol: u16,
    /// The interface it is bound to; 0 for none.
    pub(crate) bound: c_int,
    /// Whether the kernel's socket has [`NOTHING`] for a protocol.
    pub(crate) hidden: bool,
    routes: Vec<Route>,
    pub(crate) inlet: Option<Inlet>,
    pub(crate) options: Options,
    pub(crate) filter: Option<Arc<[Insn]>>,
    /// Whether the kernel's socket has a filter that can't be run here.
    pub(crate) ebpf: bool,
    fanout: Option<Fanout>,
    pub(crate) rings: Rings,
    /// Where epolls of the program look at it.
    pub(crate) watched: Vec<Watched>,
}

/// A place of a socket in an epoll of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) epoll: RawFd,
    pub(crate) events: u32,
    pub(crate) data: u64,
}

/// Options that change what calls do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) auxdata: bool,
    pub(crate) vnet: bool,
    pub(crate) stamps: Stamps,
    /// `SO_TIMESTAMPING`, as far as it asks for the time at which a frame came.
    pub(crate) stamping: Option<c_int>,
    /// `PACKET_VERSION`.
    pub(crate) version: c_int,
    /// `PACKET_RESERVE`.
    pub(crate) reserve: u32,
    /// `PACKET_IGNORE_OUTGOING`.
    pub(crate) ignores_sent: bool,
    /// `PACKET_TX_HAS_OFF`.
    pub(crate) tx_offset: bool,
}

/// Whether a received message has its time beside it, and in which kind of message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stamps {
    #[default]
    None,
    Micros(c_int),
    Nanos(c_int),
}

/// Mapped rings that the program asked for.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    pub(crate) rx: Option<Geometry>,
    pub(crate) tx: Option<Geometry>,
    mapping: Option<Mapping>,
    /// Where the program stands in its tx ring, once it is served.
    pub(crate) sender: Option<TxMap>,
}

/// The place of a socket among those that receive from a port.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub(crate) link: Use,
    pub(crate) id: u64,
}

impl Drop for Inlet {
    fn drop(&mut self) {
        RECEIVING.fetch_sub(1, AcqRel);
        self.link.lock().remove(self.id);
    }
}

/// Where frames for an interface go.
#[derive(Debug)]
pub(crate) struct Route {
    index: c_int,
    name: String,
    pub(crate) mtu: usize,
    pub(crate) address: [u8; 6],
    pub(crate) hardware: u16,
    pub(crate) way: Way,
}

#[derive(Debug)]
pub(crate) enum Way {
    /// To the port that stands for the interface.
    Mapped(Use),
    /// To the interface itself: by the kernel's socket, and by a port that only sends once that pays.
    Plain(Stream),
    Sender(Use),
    Kernel,
}

/// Frames that the kernel sends, as long as it does.
#[derive(Debug)]
pub(crate) struct Stream {
    rule: Coalesce,
    dense: usize,
}

impl Stream {
    /// Frames of a dense stream from which on a port is opened for it.
    const PAYS: usize = 64;

    /// Frames of one call that are a stream, however far it is from the one before.
    const BURST: usize = 32;

    fn new() -> Self {
        Self { rule: Coalesce::new(Config::get().bound), dense: 0 }
    }

    /// Notes a frame that is sent in a call of `frames`, `usize::MAX` for what waits in a mapped ring. Whether it is part of a
    /// stream that is long enough.
    #[inline]
    fn pays(&mut self, frames: usize) -> bool {
        let dense = frames >= Self::BURST || self.rule.bound().is_some() && self.rule.waits(Instant::now());
        let step = (frames / Self::BURST).max(1);
        self.dense = if dense { self.dense.saturating_add(step) } else { 0 };
        self.dense >= Self::PAYS
    }
}

impl Socket {
    /// A new socket in place of one that was closed.
    pub(crate) fn reset(&'static self, dgram: bool, protocol: u16) {
        let mut sockets = all();
        if !sockets.iter().any(|s| std::ptr::eq(*s, self)) {
            sockets.push(self);
        }
        drop(sockets);
        *self.state() = State { dgram, protocol, ..State::default() };
        self.receives.store(false, Release);
        self.isolated.store(false, Relaxed);
        self.late.store(0, Relaxed);
        self.names.store(1, Release);
    }

    pub(crate) fn hold(&self) {
        self.names.fetch_add(1, AcqRel);
    }

    /// One name less; true when it was the last, and all is given back.
    pub(crate) fn release(&self) -> bool {
        if self.names.fetch_sub(1, AcqRel) != 1 {
            return false;
        }
        self.receives.store(false, Release);
        *self.state() = State::default();
        true
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its frames come from a port.
    #[inline]
    pub(crate) fn receives(&self) -> bool {
        self.receives.load(Acquire)
    }

    /// Whether the kernel's socket is in a network namespace of its own: only mapped interfaces are there for it.
    #[inline]
    pub(crate) fn is_isolated(&self) -> bool {
        self.isolated.load(Relaxed)
    }

    pub(crate) fn set_isolated(&self) {
        self.isolated.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn nonblocking(&self) -> bool {
        self.nonblocking.load(Relaxed)
    }

    /// The failure that an earlier call had to keep, once.
    pub(crate) fn late(&self) -> Option<c_int> {
        Some(self.late.load(Relaxed)).filter(|code| *code != 0).map(|_| self.late.swap(0, Relaxed))
    }

    pub(crate) fn set_late(&self, code: c_int) {
        self.late.store(code, Relaxed);
    }

    pub(crate) fn set_nonblocking(&self, on: bool) {
        self.nonblocking.store(on, Relaxed);
    }

    /// Binds the socket, and the kernel's too; whether its frames come from a port now.
    pub(crate) fn bind(&self, fd: RawFd, index: c_int, protocol: u16) -> Result<bool, c_int> {
        let mut state = self.state();
        let wanted = if protocol == 0 { state.protocol } else { protocol };
        let mapped = match state.route(fd, index) {
            Some(route) => matches!(route?.way, Way::Mapped(_)),
            None if index > 0 && self.is_isolated() => return Err(libc::ENODEV),
            None => false,
        };
        if mapped && state.ebpf {
            report::say(NO_EBPF);
            return Err(libc::EOPNOTSUPP);
        }
        // A failure leaves all as it was.
        kernel::bind(fd, index, if mapped { NOTHING } else { wanted })?;
        (state.bound, state.protocol) = (index, wanted);
        state.hidden = mapped || state.hidden && wanted == 0;
        let received = state.inlet.take().is_some();
        self.receives.store(false, Release);
        if mapped {
            state.receive(fd, index, wanted)?;
        }
        self.receives.store(state.inlet.is_some(), Release);
        state.look_again(fd, received);
        Ok(mapped)
    }
}

/// A process without CAP_NET_RAW has mapped interfaces only.
fn refuse_plain(interface: &str) -> c_int {
    report::say(&format!(
        "packet sockets of {interface} need CAP_NET_RAW; map it to a port of a switch that is yours (--map {interface}=SWITCH:PORT)"
    ));
    libc::EPERM
}

impl State {
    /// Where frames for interface `index` go; `None` when there is no such interface.
    pub(crate) fn route(&mut self, fd: RawFd, index: c_int) -> Option<Result<&mut Route, c_int>> {
        if let Some(at) = self.routes.iter().position(|r| r.index == index) {
            return Some(Ok(&mut self.routes[at]));
        }
        if index <= 0 {
            return None;
        }
        let name = kernel::interface_name(fd, index).ok()?;
        let way = match Config::get().port_of(&name) {
            None if table::is_isolated(fd) => return Some(Err(refuse_plain(&name))),
            None => Way::Plain(Stream::new()),
            Some(port) => match Link::open(port, false) {
                Ok(link) => Way::Mapped(link),
                Err(code) => return Some(Err(code)),
            },
        };
        let mtu = kernel::mtu(fd, &name).unwrap_or(1500);
        let (address, hardware) = kernel::address(fd, &name).unwrap_or_default();
        // Frames of loopback and of other interfaces without Ethernet headers are the kernel's business.
        let way =
            if matches!(way, Way::Plain(_)) && hardware != libc::ARPHRD_ETHER { Way::Kernel } else { way };
        self.routes.push(Route { index, name, mtu, address, hardware, way });
        self.routes.last_mut().map(Ok)
    }

    /// Begins to receive from the port that stands for the interface.
    fn receive(&mut self, fd: RawFd, index: c_int, protocol: u16) -> Result<(), c_int> {
        if protocol == 0 {
            return Ok(());
        }
        let dgram = self.dgram;
        let Some(Ok(route)) = self.route(fd, index) else { return Ok(()) };
        let Way::Mapped(link) = &route.way else { return Ok(()) };
        let about = About { index: index as u32, hardware: route.hardware, dgram };
        let wish = Wish { protocol, about, own: route.address };
        let link = link.share();
        let id = link.ready()?.add(wish, kernel::receive_buffer(fd))?;
        RECEIVING.fetch_add(1, AcqRel);
        self.inlet = Some(Inlet { link, id });
        self.settle();
        Ok(())
    }

    /// Tells the port what the program asked for meanwhile: filter, group, mapped ring.
    pub(crate) fn settle(&mut self) {
        let Some(inlet) = &self.inlet else { return };
        let map = self.rings.rx.zip(self.rings.mapping.as_ref());
        let map = map.and_then(|(g, m)| RxMap::new(g, m, &self.options, self.dgram));
        let mut inner = inlet.link.lock();
        if let Some(r) = inner.receiver(inlet.id) {
            r.filter = self.filter.clone();
            r.fanout = self.fanout;
            r.ignores_sent = self.options.ignores_sent;
            let about = r.wish.about;
            match (&r.map, map) {
                (None, Some(map)) => {
                    r.map = Some(map.from(about.index, about.hardware));
                    filler::start();
                }
                (Some(_), None) => r.map = None,
                _ => {}
            }
        }
        inner.count_taps();
    }

    pub(crate) fn set_fanout(&mut self, fanout: Fanout) {
        self.fanout = Some(fanout);
        self.settle();
    }

    /// The program mapped the rings of the kernel's socket, or unmapped them.
    pub(crate) fn set_mapping(&mut self, mapping: Option<Mapping>) {
        // Never less than there are: a socket that is closed keeps its ring mapped.
        MAPS.fetch_add(u32::from(mapping.is_some()), AcqRel);
        self.rings.mapping = mapping;
        self.rings.sender = None;
        self.settle();
    }

    pub(crate) fn mapping(&self) -> Option<&Mapping> {
        self.rings.mapping.as_ref()
    }

    /// Descriptor that is readable when a frame may be there.
    pub(crate) fn watch(&self) -> Option<RawFd> {
        self.with_inlet(|inner, id| inner.receiver(id).map(|r| r.watch()))?
    }

    /// The socket was bound after epolls began to look at it; `received` says whether they saw frames of a port.
    fn look_again(&self, fd: RawFd, received: bool) {
        let watch = self.watch();
        for w in &self.watched {
            if let Some(watch) = watch {
                kernel::epoll(w.epoll, libc::EPOLL_CTL_ADD, watch, w.events & READ, w.data);
                kernel::epoll(w.epoll, libc::EPOLL_CTL_MOD, fd, w.events & !INPUT, w.data);
            } else if received {
                kernel::epoll(w.epoll, libc::EPOLL_CTL_MOD, fd, w.events, w.data);
            }
        }
    }

    /// Runs `f` on the link and the place of the socket there.
    pub(crate) fn with_inlet<R>(&self, f: impl FnOnce(&mut Inner, u64) -> R) -> Option<R> {
        let inlet = self.inlet.as_ref()?;
        let mut inner = inlet.link.lock();
        Some(f(&mut inner, inlet.id))
    }
}

impl Route {
    /// The link that takes a frame for this interface, in a call of `frames`; `None` for the kernel.
    #[inline]
    pub(crate) fn link(&mut self, frames: usize) -> Option<&Use> {
        if let Way::Plain(stream) = &mut self.way
            && stream.pays(frames)
        {
            self.change();
        }
        match &self.way {
            Way::Mapped(link) | Way::Sender(link) => Some(link),
            _ => None,
        }
    }

    #[cold]
    fn change(&mut self) {
        // One ring will do, unless its name is that of another interface.
        let one = format!("{}-0", self.name);
        let name = if kernel::exists(&one) { &self.name } else { &one };
        self.way = match Link::sender(&format!("ebpf:{name}")) {
            Ok(None) => return,
            // Frames that fit into several buffers only, some drivers take from the kernel alone.
            Ok(Some(link)) if link.longest() < self.mtu + crate::frame::HEADER => Way::Kernel,
            Ok(Some(link)) => {
                // What the kernel still has of frames sent before leaves before what follows.
                std::thread::sleep(CHANGE);
                Way::Sender(link)
            }
            Err(_) => Way::Kernel,
        };
    }

    /// Whether a frame of `len` bytes with this type is too long for the interface; a tag is extra. Asks again for an MTU
    /// that may have grown.
    #[inline]
    pub(crate) fn too_long(&mut self, fd: RawFd, len: usize, tagged: bool) -> bool {
        let more = crate::frame::HEADER + if tagged { 4 } else { 0 };
        if len <= self.mtu + more {
            return false;
        }
        self.mtu = kernel::mtu(fd, &self.name).unwrap_or(self.mtu);
        len > self.mtu + more
    }
}
