//! What the rings of a switch port share.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use super::claim::PortClaim;
use crate::error::Result;
use crate::memory::Region;
use crate::nic::LOOK_NS;
use crate::sys::{bpf::Bell, time};
use ringway_switch::{self as switch, Shape, Ticket, View, objects, pins};

/// Cure of maps that can't be mapped.
pub(super) const FROZEN: &str =
    "if a user of the port froze the map: `ringway switch port set` makes the port again";

/// What the rings of a port share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) shape: Shape,
    pub(super) region: Region,
    pub(super) view: Arc<View>,
    pub(super) number: u32,
    /// What shows the program that a request is of the port's user.
    pub(super) ticket: Ticket,
    /// The program that takes what the port sends, as it was last opened.
    pub(super) program: Mutex<Arc<OwnedFd>>,
    /// The doorbell of each rx ring.
    pub(super) bells: Vec<Arc<Bell>>,
    /// When the port was last looked at, monotonic ns.
    pub(super) looked_ns: AtomicU64,
    /// Removes the port with its last ring if it is ephemeral.
    pub(super) claim: PortClaim,
}

impl Core {
    /// A word of a ring's control block, tx rings first.
    pub(super) fn ctl(&self, ring: u32, at: usize) -> &AtomicU32 {
        let s = self.region.shared();
        s.mem.u32(s.layout.ctl(ring) + at)
    }

    /// The slot at a position as programs count.
    pub(super) fn index(&self, position: u32) -> u32 {
        position & (self.shape.slots - 1)
    }

    /// Fails when the port was deleted or given to others. Looks at most ten times a second.
    pub(super) fn look(&self) -> Result<()> {
        let now = time::monotonic_ns();
        if now.saturating_sub(self.looked_ns.load(Relaxed)) < LOOK_NS {
            return Ok(());
        }
        self.looked_ns.store(now, Relaxed);
        self.look_now()
    }

    /// The same, at once.
    pub(super) fn look_now(&self) -> Result<()> {
        match self.view.look(0, &self.name)?.port {
            0 => Err(switch::port_gone(&self.name)),
            _ => Ok(()),
        }
    }

    pub(super) fn program(&self) -> Arc<OwnedFd> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the program that took the place of the one that was there.
    pub(super) fn reopen_program(&self) -> Result<Arc<OwnedFd>> {
        self.look_now()?;
        let program = Arc::new(objects::open_pin(&pins::send(&self.dir), true, &self.name)?);
        *self.program.lock().unwrap_or_else(PoisonError::into_inner) = program.clone();
        Ok(program)
    }
}
