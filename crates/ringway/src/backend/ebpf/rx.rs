//! Receiving: the program in the kernel fills slots; a sync tells it which are free again and looks how far it came.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use super::Core;
use super::object::ctl;
use crate::backend::RxSync;
use crate::error::Result;
use crate::handshake;
use crate::ring::RingView;
use crate::sys::bpf::Bell;

/// Syncs that find nothing between two looks at the clock.
const IDLE_SYNCS: u32 = 64;

/// The receiving side of one queue, or of one CPU for host rings.
#[derive(Debug)]
pub(super) struct EbpfRx {
    core: Arc<Core>,
    bell: Arc<Bell>,
    /// Number of the ring among all of the port.
    ring: u32,
    tail: u32,
    armed: bool,
    idle: u32,
}

impl EbpfRx {
    pub(super) fn new(core: Arc<Core>, rx: u32) -> Self {
        let bell = core.loaded.bells[rx as usize].clone();
        let ring = core.cfg.tx_rings + rx;
        Self { core, bell, ring, tail: 0, armed: false, idle: 0 }
    }
}

impl RxSync for EbpfRx {
    fn sync(&mut self, ring: &RingView, head: u32) -> Result<u32> {
        let core = &self.core;
        if self.armed {
            self.armed = false;
            handshake::withdraw(core.ctl(self.ring, ctl::WISH));
            self.bell.drain();
        }
        core.ctl(self.ring, ctl::HEAD).store(head, Release);
        let tail = handshake::observe(core.tail(self.ring));
        if tail == self.tail {
            self.idle += 1;
            if self.idle >= IDLE_SYNCS {
                self.idle = 0;
                core.look()?;
            }
        } else if tail < ring.num() {
            self.idle = 0;
            self.tail = tail;
        }
        Ok(self.tail)
    }

    fn arm(&mut self, _: &RingView) -> Result<bool> {
        self.core.look()?;
        self.armed = true;
        let now = handshake::wish(self.core.tail(self.ring), self.core.ctl(self.ring, ctl::WISH));
        Ok(now != self.tail)
    }

    fn fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}
