//! Which descriptors are packet sockets that this library serves. Sockets are used again after they were closed.

use ringway_shim::Table;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use crate::socket::Socket;

static TABLE: Table<Socket> = Table::new();

/// Sockets that were closed.
static FREE: Mutex<Vec<&'static Socket>> = Mutex::new(Vec::new());

#[inline]
pub(crate) fn get(fd: c_int) -> Option<&'static Socket> {
    TABLE.get(fd)
}

/// Whether the kernel's socket is in a network namespace of its own.
#[inline]
pub(crate) fn is_isolated(fd: c_int) -> bool {
    get(fd).is_some_and(Socket::is_isolated)
}

/// Makes `fd` a packet socket, unless its number is too large.
pub(crate) fn add(fd: c_int, dgram: bool, protocol: u16) {
    if !TABLE.has_room(fd) {
        return;
    }
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let socket = free.unwrap_or_else(|| Box::leak(Box::default()));
    socket.reset(dgram, protocol);
    TABLE.set(fd, socket);
}

/// Makes `to` another name of the socket `from`.
pub(crate) fn alias(from: c_int, to: c_int) {
    let Some(socket) = get(from) else { return };
    if TABLE.has_room(to) {
        socket.hold();
        TABLE.set(to, socket);
    }
}

/// Takes the name away; what the socket had goes with its last one.
pub(crate) fn remove(fd: c_int) {
    if let Some(socket) = TABLE.take(fd)
        && socket.release()
    {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    }
}
