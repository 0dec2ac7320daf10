//! Whether the calling thread is inside this library, or inside the one that is preloaded beside it.

use ringway_shim::ReentryGuard;

use crate::sys::peer;

/// The calling thread is inside until this is dropped. Calls that it makes meanwhile, also from a signal handler, get libc's functions.
#[derive(Debug)]
pub(crate) struct Inside {
    _peer: Peer,
    _own: ReentryGuard,
}

#[derive(Debug)]
struct Peer;

impl Drop for Peer {
    #[inline]
    fn drop(&mut self) {
        peer::leave();
    }
}

impl Inside {
    /// `None` when the thread is inside already, or ends.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        let own = ReentryGuard::enter()?;
        peer::enter().then(|| Self { _peer: Peer, _own: own })
    }
}
