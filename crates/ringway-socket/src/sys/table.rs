//! Which descriptors are packet sockets of ours: one array, read without a lock.
//!
//! Every read, write and poll of the program looks here, so the answer for any other descriptor is one load. Sockets are
//! never freed, for another thread may be inside one that is being closed; they are used again.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::sync::{Mutex, PoisonError};

use crate::socket::Socket;

/// Descriptors from here on are left to the kernel.
pub(crate) const FDS: usize = 1 << 16;

static TABLE: [AtomicPtr<Socket>; FDS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; FDS];

/// Sockets that were closed.
static FREE: Mutex<Vec<&'static Socket>> = Mutex::new(Vec::new());

#[inline]
pub(crate) fn get(fd: c_int) -> Option<&'static Socket> {
    let slot = TABLE.get(usize::try_from(fd).ok()?)?;
    let at = slot.load(Acquire);
    // SAFETY: what is in the table came from `Box::leak` and is never freed.
    unsafe { at.as_ref() }
}

/// Whether the kernel's socket is in a network namespace of its own.
#[inline]
pub(crate) fn is_isolated(fd: c_int) -> bool {
    get(fd).is_some_and(Socket::is_isolated)
}

/// Makes `fd` a packet socket; false when its number is too large.
pub(crate) fn add(fd: c_int, dgram: bool, protocol: u16) -> bool {
    let Some(slot) = usize::try_from(fd).ok().and_then(|fd| TABLE.get(fd)) else { return false };
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let socket = free.unwrap_or_else(|| Box::leak(Box::default()));
    socket.reset(dgram, protocol);
    slot.store(std::ptr::from_ref(socket).cast_mut(), Release);
    true
}

/// Makes `to` another name of the socket `from`.
pub(crate) fn alias(from: c_int, to: c_int) {
    let (Some(socket), Ok(to)) = (get(from), usize::try_from(to)) else { return };
    if let Some(slot) = TABLE.get(to) {
        socket.hold();
        slot.store(std::ptr::from_ref(socket).cast_mut(), Release);
    }
}

/// Takes the name away; what the socket had goes with its last one.
pub(crate) fn remove(fd: c_int) {
    let Some(slot) = usize::try_from(fd).ok().and_then(|fd| TABLE.get(fd)) else { return };
    let at = slot.swap(std::ptr::null_mut(), AcqRel);
    // SAFETY: as in `get`.
    if let Some(socket) = unsafe { at.as_ref() }
        && socket.release()
    {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    }
}
