//! Which numbers of the process are netmap descriptors. Numbers that stand for one open file description have one [`Descriptor`].

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringway_shim::{FDS, Table};

use crate::descriptor::Descriptor;
use crate::sys::counted::{Counted, Use};
use crate::sys::kernel;
use crate::{epolls, internal};

/// Where a descriptor is while calls use it.
pub(crate) type Place = Counted<Descriptor>;

static TABLE: Table<Place> = Table::new();

/// Stands for a socket that was looked at, and is no netmap descriptor. It never has a value.
static OTHER: Place = Place::new();

/// Descriptors that have numbers.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A place, and how many numbers stand for it; it may be used again when there are none.
#[derive(Debug)]
struct Named {
    place: &'static Place,
    inode: u64,
    numbers: usize,
}

static NAMED: Mutex<Vec<Named>> = Mutex::new(Vec::new());

/// Keeps numbers from changing what they stand for.
pub(crate) struct Held(MutexGuard<'static, Vec<Named>>);

impl Held {
    /// In the child of a fork.
    pub(crate) fn forked(&self) {
        self.0.iter().for_each(|n| n.place.forked());
    }
}

pub(crate) fn hold() -> Held {
    Held(NAMED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the process has any.
#[inline]
pub(crate) fn any() -> bool {
    OPEN.load(Relaxed) > 0
}

#[inline]
fn place(fd: RawFd) -> Option<&'static Place> {
    TABLE.get(fd).filter(|p| !std::ptr::eq(*p, &OTHER))
}

/// Whether the number is one.
#[inline]
pub(crate) fn is(fd: RawFd) -> bool {
    place(fd).is_some()
}

/// Whether nobody has looked yet what the number is.
#[inline]
pub(crate) fn is_unknown(fd: RawFd) -> bool {
    fd >= 0 && TABLE.has_room(fd) && TABLE.get(fd).is_none()
}

/// The descriptor, for a call that uses it.
#[inline]
pub(crate) fn get(fd: RawFd) -> Option<Use<Descriptor>> {
    let place = place(fd)?;
    let used = place.enter()?;
    // The place may have been used again since.
    TABLE.get(fd).is_some_and(|now| std::ptr::eq(now, place)).then_some(used)
}

/// The place of the descriptor, for an epoll that watches it.
pub(crate) fn place_of(fd: RawFd) -> Option<&'static Place> {
    place(fd)
}

fn set(fd: RawFd, place: &'static Place) {
    internal::reached(fd);
    TABLE.set(fd, place);
}

/// Makes a number one that stands for this descriptor; false when the number is too large.
pub(crate) fn add(fd: RawFd, descriptor: Descriptor) -> bool {
    if !TABLE.has_room(fd) {
        return false;
    }
    remove(fd);
    let mut held = hold();
    if !join(&mut held, fd, descriptor.inode()) {
        put(&mut held, fd, descriptor);
    }
    true
}

/// Makes the number another one of a descriptor that is there.
fn join(held: &mut Held, fd: RawFd, inode: u64) -> bool {
    let Some(named) = held.0.iter_mut().find(|n| n.numbers > 0 && n.inode == inode) else { return false };
    named.numbers += 1;
    set(fd, named.place);
    true
}

fn put(held: &mut Held, fd: RawFd, descriptor: Descriptor) {
    let inode = descriptor.inode();
    let mut left = Some(descriptor);
    for named in held.0.iter_mut().filter(|n| n.numbers == 0) {
        let Some(descriptor) = left.take() else { break };
        left = named.place.begin(descriptor).err();
        if left.is_none() {
            (named.inode, named.numbers) = (inode, 1);
            set(fd, named.place);
        }
    }
    if let Some(descriptor) = left {
        let place: &'static Place = Box::leak(Box::new(Place::new()));
        // A new place is free.
        let _ = place.begin(descriptor);
        held.0.push(Named { place, inode, numbers: 1 });
        set(fd, place);
    }
    OPEN.fetch_add(1, Relaxed);
}

/// Makes `to` another number of the descriptor `from`.
pub(crate) fn alias(from: RawFd, to: RawFd) {
    let mut held = hold();
    if let Some(place) = place(from)
        && TABLE.has_room(to)
        && let Some(named) = held.0.iter_mut().find(|n| std::ptr::eq(n.place, place))
    {
        named.numbers += 1;
        set(to, place);
    }
}

/// A descriptor that has no number any more. What the process has of it goes when this is dropped, which is after the kernel closed the
/// number: what nobody has is freed then.
#[derive(Debug)]
pub(crate) struct Last(&'static Place);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The number stands for nothing any more. Returns a descriptor of which it was the last one.
pub(crate) fn leave(fd: RawFd) -> Option<Last> {
    let mut held = hold();
    let place = TABLE.take(fd).filter(|p| !std::ptr::eq(*p, &OTHER))?;
    let named = held.0.iter_mut().find(|n| std::ptr::eq(n.place, place))?;
    named.numbers -= 1;
    if named.numbers > 0 {
        return None;
    }
    OPEN.fetch_sub(1, Relaxed);
    epolls::forget(place);
    Some(Last(place))
}

/// The number, which the kernel has closed, stands for nothing any more.
pub(crate) fn remove(fd: RawFd) {
    drop(leave(fd));
}

/// Ends all descriptors of a process that exits: `close` closes a number.
pub(crate) fn end_all(close: impl Fn(RawFd)) {
    for fd in (0..FDS as RawFd).filter(|fd| is(*fd)) {
        let last = leave(fd);
        close(fd);
        drop(last);
    }
}

/// What the number stands for by the kernel's word: it may have been closed, or have come, by ways that no hook saw.
pub(crate) fn find(fd: RawFd) -> Option<Use<Descriptor>> {
    if !TABLE.has_room(fd) {
        return None;
    }
    let socket = kernel::kind(fd).filter(|k| k.socket);
    if let Some(used) = get(fd) {
        if socket.is_some_and(|s| s.inode == used.inode()) {
            return Some(used);
        }
        drop(used);
        remove(fd);
    }
    let Some(socket) = socket.filter(|_| kernel::is_unix_seqpacket(fd)) else { return pass_over(fd) };
    let joined = {
        let mut held = hold();
        TABLE.get(fd).is_none_or(|p| std::ptr::eq(p, &OTHER)) && join(&mut held, fd, socket.inode)
    };
    if !joined {
        match Descriptor::recognise(kernel::borrowed(&fd)?) {
            Some(descriptor) => add(fd, descriptor),
            None => return pass_over(fd),
        };
    }
    get(fd)
}

/// Notes that the number is no netmap descriptor.
fn pass_over(fd: RawFd) -> Option<Use<Descriptor>> {
    let _held = hold();
    if is_unknown(fd) {
        set(fd, &OTHER);
    }
    None
}
