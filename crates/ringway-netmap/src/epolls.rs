//! Epolls of the program, and the netmap descriptors that it registered there. The kernel's epoll has only the others: a netmap descriptor
//! must be looked at, which is a sync. A registration lasts until it is deleted, or until the last number of the descriptor is closed.

use std::ffi::{c_int, c_short};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use libc::epoll_event;
use ringway_shim::FDS;

use crate::descriptor::{Descriptor, Sleep};
use crate::internal;
use crate::sys::counted::{Counted, Use};

/// A registration.
#[derive(Debug)]
struct Watched {
    fd: RawFd,
    place: &'static Counted<Descriptor>,
    events: u32,
    data: u64,
    /// Not after the event of one that wants a single one.
    armed: AtomicBool,
}

impl Watched {
    fn is(&self, fd: RawFd, place: &Counted<Descriptor>) -> bool {
        self.fd == fd && std::ptr::eq(self.place, place)
    }

    /// What poll calls the events.
    fn asked(&self) -> c_short {
        (self.events & 0xffff) as c_short
    }

    /// What is ready, as often as the program wants to know.
    fn look(&self) -> Option<epoll_event> {
        if !self.armed.load(Acquire) {
            return None;
        }
        let ready = self.place.enter()?.look(self.asked()) as u16;
        let once = self.events & libc::EPOLLONESHOT as u32 != 0;
        let reports = ready != 0 && (!once || self.armed.swap(false, AcqRel));
        reports.then_some(epoll_event { events: ready.into(), u64: self.data })
    }
}

/// An epoll under all its numbers.
#[derive(Debug, Default)]
struct Epoll {
    numbers: Vec<RawFd>,
    watched: Vec<Watched>,
    /// Which registration is looked at first: another one each time.
    turn: AtomicUsize,
}

static EPOLLS: RwLock<Vec<Epoll>> = RwLock::new(Vec::new());

/// Registrations of all epolls.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

/// A bit for each number of an epoll.
static NUMBERS: [AtomicU64; FDS / 64] = [const { AtomicU64::new(0) }; FDS / 64];

/// Keeps epolls as they are.
pub(crate) struct Held {
    _epolls: RwLockWriteGuard<'static, Vec<Epoll>>,
}

pub(crate) fn hold() -> Held {
    Held { _epolls: write() }
}

fn write() -> RwLockWriteGuard<'static, Vec<Epoll>> {
    EPOLLS.write().unwrap_or_else(PoisonError::into_inner)
}

fn read() -> RwLockReadGuard<'static, Vec<Epoll>> {
    EPOLLS.read().unwrap_or_else(PoisonError::into_inner)
}

fn mark(fd: RawFd, on: bool) {
    let Some(word) = usize::try_from(fd).ok().and_then(|n| NUMBERS.get(n / 64)) else { return };
    let bit = 1 << (fd % 64);
    internal::reached(fd);
    if on {
        word.fetch_or(bit, Relaxed)
    } else {
        word.fetch_and(!bit, Relaxed)
    };
}

/// Whether the number is known as that of an epoll.
#[inline]
pub(crate) fn is(fd: RawFd) -> bool {
    let word = usize::try_from(fd).ok().and_then(|n| NUMBERS.get(n / 64));
    word.is_some_and(|w| w.load(Relaxed) & 1 << (fd % 64) != 0)
}

/// Whether any epoll has a netmap descriptor.
#[inline]
pub(crate) fn any() -> bool {
    WATCHED.load(Relaxed) > 0
}

/// Whether this one has.
pub(crate) fn watches(epoll: RawFd) -> bool {
    any() && is(epoll) && read().iter().any(|e| e.numbers.contains(&epoll) && !e.watched.is_empty())
}

/// The program made an epoll.
pub(crate) fn add(epoll: RawFd) {
    remove(epoll);
    write().push(Epoll { numbers: vec![epoll], ..Epoll::default() });
    mark(epoll, true);
}

/// Makes `to` another number of the epoll `from`.
pub(crate) fn alias(from: RawFd, to: RawFd) {
    if let Some(epoll) = write().iter_mut().find(|e| e.numbers.contains(&from)) {
        epoll.numbers.push(to);
        mark(to, true);
    }
}

/// The number is closed; an epoll goes with its last one.
pub(crate) fn remove(fd: RawFd) {
    if !is(fd) {
        return;
    }
    mark(fd, false);
    let mut held = write();
    held.iter_mut().for_each(|e| e.numbers.retain(|n| *n != fd));
    let gone: usize = held.iter().filter(|e| e.numbers.is_empty()).map(|e| e.watched.len()).sum();
    held.retain(|e| !e.numbers.is_empty());
    WATCHED.fetch_sub(gone, Relaxed);
}

/// The descriptor has no number any more.
pub(crate) fn forget(place: &Counted<Descriptor>) {
    if any() {
        for epoll in write().iter_mut() {
            let before = epoll.watched.len();
            epoll.watched.retain(|w| !std::ptr::eq(w.place, place));
            WATCHED.fetch_sub(before - epoll.watched.len(), Relaxed);
        }
    }
}

/// Changes a registration as epoll_ctl(2) does.
///
/// # Errors
/// Its errors.
pub(crate) fn change(
    epoll: RawFd,
    op: c_int,
    fd: RawFd,
    place: &'static Counted<Descriptor>,
    event: epoll_event,
) -> Result<(), c_int> {
    if !is(epoll) {
        add(epoll);
    }
    let mut held = write();
    let epoll = held.iter_mut().find(|e| e.numbers.contains(&epoll)).ok_or(libc::EBADF)?;
    let known = epoll.watched.iter().position(|w| w.is(fd, place));
    let new = Watched { fd, place, events: event.events, data: event.u64, armed: AtomicBool::new(true) };
    match (op, known) {
        (libc::EPOLL_CTL_ADD, None) => {
            epoll.watched.push(new);
            WATCHED.fetch_add(1, Relaxed);
        }
        (libc::EPOLL_CTL_ADD, Some(_)) => return Err(libc::EEXIST),
        (libc::EPOLL_CTL_MOD, Some(at)) => epoll.watched[at] = new,
        (libc::EPOLL_CTL_DEL, Some(at)) => {
            epoll.watched.remove(at);
            WATCHED.fetch_sub(1, Relaxed);
        }
        (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => return Err(libc::ENOENT),
        _ => return Err(libc::EINVAL),
    }
    Ok(())
}

/// Whether a call asks the netmap descriptors before the others, which every other call does.
pub(crate) fn takes_turn() -> bool {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    CALLS.fetch_add(1, Relaxed).is_multiple_of(2)
}

/// Looks at the netmap descriptors of an epoll, as far as `out` has room for events; returns how many there are.
pub(crate) fn look(epoll: RawFd, out: &mut [epoll_event]) -> usize {
    let held = read();
    let Some(epoll) = held.iter().find(|e| e.numbers.contains(&epoll)) else { return 0 };
    let all = &epoll.watched;
    if all.is_empty() {
        return 0;
    }
    let first = epoll.turn.fetch_add(1, Relaxed) % all.len();
    let mut n = 0;
    for watched in all[first..].iter().chain(&all[..first]) {
        if n == out.len() {
            break;
        }
        if let Some(event) = watched.look() {
            out[n] = event;
            n += 1;
        }
    }
    n
}

/// Whether a netmap descriptor of the epoll has an event to tell.
pub(crate) fn is_ready(epoll: RawFd) -> bool {
    let held = read();
    let mut armed = watched(&held, epoll);
    armed.any(|w| w.place.enter().is_some_and(|d| d.look(w.asked()) != 0))
}

/// Asks the netmap descriptors of an epoll for wake-ups, and keeps them for the sleep; true when something came meanwhile.
pub(crate) fn arm(epoll: RawFd, sleep: &mut Sleep, used: &mut Vec<Use<Descriptor>>) -> bool {
    let held = read();
    for watched in watched(&held, epoll) {
        let Some(descriptor) = watched.place.enter() else { continue };
        if descriptor.arm(watched.asked(), sleep) {
            return true;
        }
        used.push(descriptor);
    }
    false
}

/// Registrations of an epoll that have events to tell.
fn watched(all: &[Epoll], epoll: RawFd) -> impl Iterator<Item = &Watched> {
    let its = all.iter().filter(move |e| e.numbers.contains(&epoll)).flat_map(|e| &e.watched);
    its.filter(|w| w.armed.load(Acquire))
}
