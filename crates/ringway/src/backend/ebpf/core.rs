//! What the rings of an `ebpf:` port share.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::egress::Egress;
use crate::filter::Gate;
use crate::memory::{CTL_SIZE, Region};
use crate::sys::net;
use crate::sys::process_mark::ProcessMark;
use crate::sys::promiscuous::Promiscuous;
use crate::sys::time;
use ringway_nic::kernel_half::{Config, KRING, KRING_POOLS, Loaded};
use ringway_nic::pools;

/// Slots of a ring when the user names no number: two bursts of 1024.
pub(super) const SLOTS: u32 = 2048;

/// What the rings of a port share. It is dropped with the last of them, and detaches everything.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) interface: Arc<net::Interface>,
    pub(super) driver: String,
    pub(super) loaded: Loaded,
    pub(super) cfg: Config,
    pub(super) region: Region,
    /// Whether the interface's own count of frames taken is kept.
    pub(super) counted: bool,
    /// When the interface was last looked at, monotonic ns.
    pub(super) looked_ns: AtomicU64,
    /// The process that opened the port, if this is one that may have AF_XDP sockets for it.
    pub(super) opener: Option<ProcessMark>,
    pub(super) attached: Vec<OwnedFd>,
    pub(super) promiscuous: Option<Promiscuous>,
    /// What the description says of frames that do not come.
    pub(super) unheard: &'static str,
    /// Of host rings; it goes before the gate that it may jump through.
    pub(super) egress: Option<Egress>,
    pub(super) gate: Option<Gate>,
}

impl Core {
    /// Whether this process opened the port. Its AF_XDP sockets are no other process's, neither an importer's nor a fork's.
    #[inline]
    pub(super) fn is_opener(&self) -> bool {
        self.opener.as_ref().is_some_and(ProcessMark::is_here)
    }

    /// The control block of a ring, tx rings first, then rx rings.
    pub(super) fn ctl(&self, ring: u32, at: usize) -> &std::sync::atomic::AtomicU32 {
        let s = self.region.shared();
        s.mem.u32(self.cfg.ctl_ofs as usize + ring as usize * CTL_SIZE + at)
    }

    /// Whether so many pools of pages wait that calls on live frames take no frame; never where the kernel does not report
    /// them.
    pub(super) fn pools_abound(&self) -> bool {
        let interface = (self.cfg.tx_rings + self.cfg.rx_rings) as usize;
        let [window, waiting] =
            KRING_POOLS.map(|at| self.loaded.kstate.u32(interface * KRING + at).load(Relaxed));
        pools::abound((window, waiting), self.cfg.most_pools, time::coarse_ns())
    }

    /// The kernel's tail of a ring; the client's mapping of it is read-only.
    pub(super) fn tail(&self, ring: u32) -> &std::sync::atomic::AtomicU32 {
        self.loaded.kstate.u32(ring as usize * KRING)
    }
}
