//! The interface behind a port.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ringway::{Error, ErrorKind, Result, time::monotonic_ns};

use crate::sys;

pub(crate) struct Interface {
    name: String,
    /// Packets that the interface had lost before.
    lost_before: u64,
    /// When it was last looked at, monotonic ns, and whether it was down then.
    looked_ns: AtomicU64,
    down: AtomicBool,
}

impl Interface {
    pub(crate) fn new(name: &str) -> Result<Self> {
        if !sys::is_up(name) {
            let cure = format!("set it up with `ip link set {name} up`");
            return Err(Error::new(ErrorKind::LinkDown, name, "the interface is down").cure(cure));
        }
        let (looked_ns, down) = (AtomicU64::new(monotonic_ns()), AtomicBool::new(false));
        Ok(Self { name: name.to_owned(), lost_before: lost(name), looked_ns, down })
    }

    /// Whether it is down. Looks ten times a second at most.
    pub(crate) fn is_down(&self) -> bool {
        let now = monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) >= 100_000_000 {
            self.looked_ns.store(now, Relaxed);
            self.down.store(!sys::is_up(&self.name), Relaxed);
        }
        self.down.load(Relaxed)
    }

    /// Without the right to attend, reads look at the interface from time to time.
    pub(crate) fn attend(&self, promiscuous: bool) -> Result<Option<OwnedFd>> {
        match sys::attend(&self.name, promiscuous) {
            Ok(socket) => Ok(Some(socket)),
            Err(_) if !promiscuous => Ok(None),
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => {
                Err(Error::new(ErrorKind::NotFound, &self.name, "no such interface"))
            }
            Err(e) => Err(Error::io(&self.name, "promiscuous mode refused", e)),
        }
    }

    /// Packets that it has lost since the handle was made, as libpcap counts them.
    pub(crate) fn lost(&self) -> u64 {
        lost(&self.name).wrapping_sub(self.lost_before)
    }
}

/// Packets that the interface itself lost, as libpcap counts them.
fn lost(interface: &str) -> u64 {
    let read = |what| {
        let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/statistics/{what}"));
        text.ok().and_then(|t| t.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    read("rx_missed_errors") + read("rx_fifo_errors")
}
