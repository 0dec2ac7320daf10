//! Sockets that receive from ports.

use std::sync::atomic::{AtomicU32, Ordering::*};

use crate::link::LinkRef;

/// Whether waiting has to look at sockets that receive from ports: how many there are.
static RECEIVING: AtomicU32 = AtomicU32::new(0);

#[inline]
pub(crate) fn receiving() -> u32 {
    RECEIVING.load(Acquire)
}

/// The place of a socket among the receivers of a port.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub(crate) link: LinkRef,
    pub(crate) id: u64,
}

impl Drop for Inlet {
    fn drop(&mut self) {
        RECEIVING.fetch_sub(1, AcqRel);
        self.link.lock().remove(self.id);
    }
}

impl Inlet {
    pub(crate) fn new(link: LinkRef, id: u64) -> Self {
        RECEIVING.fetch_add(1, AcqRel);
        Self { link, id }
    }
}
