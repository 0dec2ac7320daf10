//! A look at sockets that receive from ports, before a call sleeps on them.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::link::SleeperGuard;
use crate::ring_filler;
use crate::socket::Socket;
use crate::sockets;

/// A socket that receives from a port.
pub(super) fn ours(fd: c_int) -> Option<&'static Socket> {
    sockets::get(fd).filter(|s| s.receives())
}

/// Whether a frame is there.
pub(super) fn has(socket: &Socket) -> bool {
    ring_filler::looked();
    let state = socket.state();
    let Some(inlet) = &state.inlet else { return false };
    // What the port has to say when it fails, the next receive tells.
    inlet.link.ready().and_then(|mut inner| inner.has(inlet.id)).unwrap_or(true)
}

/// Asks for a wake-up: the descriptor to sleep on, for as long as the other lives; `None` when a frame may be there already.
pub(super) fn arm(socket: &Socket) -> Option<(RawFd, SleeperGuard)> {
    let state = socket.state();
    let inlet = state.inlet.as_ref()?;
    let mut inner = inlet.link.ready().ok()?;
    if inner.arm() != Ok(false) {
        return None;
    }
    let watch = inner.receiver(inlet.id)?.watch();
    Some((watch, SleeperGuard::new(inlet.link.0, &mut inner)))
}
