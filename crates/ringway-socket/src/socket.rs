//! A packet socket of the program: what it asked for, and where its frames go.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::filter::{FilterContext, Insn};
use crate::inlet::Inlet;
use crate::link::LinkState;
use crate::options::Options;
use crate::receiver::{Fanout, ReceiveSpec};
use crate::route::{Route, Way};
use crate::sys::kernel::{self, KernelSocket};
use crate::sys::ring::Mapping;
use crate::tpacket::{Geometry, RxMap, TxMap};
use crate::{report, ring_filler};

/// A protocol that no frame has (IEEE 802 reserves it). The kernel's socket of a mapped interface is bound to it: it receives nothing, and
/// everything that needs a bound socket works.
const NOTHING: u16 = 0xffff;

pub(crate) const NO_EBPF: &str =
    "a packet socket of a mapped interface can't run an eBPF filter; attach a classic one";

/// Events that frames to read cause, and flags that go with them to the descriptor that reports frames.
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
    /// As of the socket.
    isolated: bool,
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

/// Mapped rings that the program asked for.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    pub(crate) rx: Option<Geometry>,
    pub(crate) tx: Option<Geometry>,
    mapping: Option<Mapping>,
    /// Where the program stands in its tx ring, once it is served.
    pub(crate) sender: Option<TxMap>,
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
        self.state().isolated = true;
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
        kernel::bind(state.kernel_socket(fd), index, if mapped { NOTHING } else { wanted })?;
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

    /// Fills the mapped ring unless the program sees to that; whether it did. `None` for a socket without such a ring.
    fn fill_ring(&self, looked: bool) -> Option<bool> {
        let state = self.state();
        let inlet = state.inlet.as_ref()?;
        let mut inner = inlet.link.lock();
        inner.receiver(inlet.id)?.map.as_ref()?;
        let spins = !looked && inner.asleep == 0 && inner.open.is_some();
        // If the port fails, the program's next call returns the error.
        Some(spins && inner.has(inlet.id).is_ok())
    }
}

impl State {
    /// The kernel's socket under the descriptor.
    pub(crate) fn kernel_socket(&self, fd: RawFd) -> KernelSocket {
        KernelSocket { fd, isolated: self.isolated }
    }

    /// Where frames for interface `index` go; `None` when there is no such interface.
    pub(crate) fn route(&mut self, fd: RawFd, index: c_int) -> Option<Result<&mut Route, c_int>> {
        if let Some(at) = self.routes.iter().position(|r| r.index == index) {
            return Some(Ok(&mut self.routes[at]));
        }
        if index <= 0 {
            return None;
        }
        match Route::find(self.kernel_socket(fd), index)? {
            Ok(route) => self.routes.push(route),
            Err(code) => return Some(Err(code)),
        }
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
        let context = FilterContext { index: index as u32, hardware: route.hardware, dgram };
        let spec = ReceiveSpec { protocol, context, own: route.address };
        let link = link.share();
        let id = link.ready()?.add(spec, kernel::receive_buffer(fd))?;
        self.inlet = Some(Inlet::new(link, id));
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
            let context = r.spec.context;
            match (&r.map, map) {
                (None, Some(map)) => {
                    r.map = Some(map.from(context.index, context.hardware));
                    ring_filler::start(fill_all);
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
    pub(crate) fn with_inlet<R>(&self, f: impl FnOnce(&mut LinkState, u64) -> R) -> Option<R> {
        let inlet = self.inlet.as_ref()?;
        let mut inner = inlet.link.lock();
        Some(f(&mut inner, inlet.id))
    }
}

/// Whether any ring was filled; `None` when there are none.
fn fill_all(looked: bool) -> Option<bool> {
    let nth = |i| all().get(i).copied();
    (0..).map_while(nth).filter_map(|s| s.fill_ring(looked)).reduce(|a, b| a | b)
}
