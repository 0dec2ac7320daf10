//! A binding as this process has it: its rings, and what serves them.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::fd::reopen_fifo;

use crate::failure::told;
use crate::local::{inherit_region, local};
use crate::plan::Plan;
use crate::region::Region;
use crate::served::Served;
use crate::space::{Space, is_alive};
use crate::sweep::sweep;
use crate::sync::{Crossings, Sleepers};
use crate::tally::Tally;

/// A place in a region's book, and the descriptor that proves that it is used.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) region: Arc<Region>,
    pub(crate) binding: u32,
    proof: Option<OwnedFd>,
}

/// A binding.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    pub(crate) served: Vec<Arc<Served>>,
    pub(crate) bells: Vec<OwnedFd>,
    /// Whether a bell may have rung that nobody heard.
    pub(crate) armed: AtomicBool,
    pub(crate) sleepers: Arc<Sleepers>,
    pub(crate) crossings: Crossings,
    pub(crate) tally: Tally,
    /// Whether it was said why a sync failed.
    said: AtomicBool,
    /// Dropped last: what it frees must not be in use.
    holds: Vec<Hold>,
}

impl Hold {
    pub(crate) fn new(region: &Arc<Region>, binding: u32, proof: File) -> Self {
        Self { region: region.clone(), binding, proof: Some(proof.into()) }
    }
}

impl Bound {
    /// A binding: the plan, and what it names.
    ///
    /// # Errors
    /// When there is no memory for its counters.
    pub(crate) fn new(
        plan: Plan,
        holds: Vec<Hold>,
        served: Vec<Arc<Served>>,
        bells: Vec<OwnedFd>,
    ) -> Result<Self> {
        let tally = Tally::of(&plan, &holds[0].region, holds[0].binding)?;
        Ok(Self {
            plan,
            served,
            bells,
            armed: AtomicBool::new(false),
            sleepers: Arc::default(),
            crossings: Crossings::default(),
            tally,
            said: AtomicBool::new(false),
            holds,
        })
    }

    /// A binding that another process made.
    pub(crate) fn inherit(bytes: &[u8], fds: Vec<OwnedFd>) -> Result<Self> {
        let bad = || {
            Error::new(ErrorKind::Invalid, "netmap", "the descriptor was bound in a form that is not known")
                .cure("run all programs that have it with the same version of the library")
        };
        let plan = Plan::of_bytes(bytes).ok_or_else(bad)?;
        if fds.len() != 2 * plan.holds.len() + plan.served.len() + plan.bells as usize {
            return Err(bad());
        }
        let mut fds = fds.into_iter();
        let mut holds = Vec::new();
        for &binding in &plan.holds {
            let (proof, memory) = fds.next().zip(fds.next()).ok_or_else(bad)?;
            let region = inherit_region(&proof, memory)?;
            holds.push(Hold { region, binding, proof: Some(proof) });
        }
        let mut served = Vec::new();
        for &(hold, port) in &plan.served {
            let keeper = fds.next().ok_or_else(bad)?;
            served.push(served_by(&holds[hold as usize].region, port, keeper)?);
        }
        let bells = fds.map(|fd| reopen_fifo(fd.as_fd()).unwrap_or(fd)).collect();
        let layout = holds[0].region.layout();
        if !plan.tx.iter().chain(&plan.rx).all(|ring| ring.fits(layout.rings, layout.slots)) {
            return Err(bad());
        }
        Self::new(plan, holds, served, bells)
    }

    /// What another process needs to have the binding; `None` when a port is of a kind that only this one can serve.
    pub(crate) fn message(&self) -> Option<(Vec<u8>, Vec<BorrowedFd<'_>>)> {
        let mut fds = Vec::new();
        for hold in &self.holds {
            fds.extend([hold.proof.as_ref()?.as_fd(), hold.region.memory()]);
        }
        for served in &self.served {
            fds.push(served.keeper()?);
        }
        fds.extend(self.bells.iter().map(AsFd::as_fd));
        Some((self.plan.to_bytes(), fds))
    }

    /// The region that the rings are in.
    #[inline]
    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.holds[0].region
    }

    /// Says once why a sync failed: the program learns no more than that it did.
    #[cold]
    pub(crate) fn say(&self, e: &Error) {
        if !self.said.swap(true, Relaxed) {
            told(e);
        }
    }

    /// Its number in that region.
    pub(crate) fn index(&self) -> u32 {
        self.holds[0].binding
    }
}

fn served_by(region: &Arc<Region>, port: u32, keeper: OwnedFd) -> Result<Arc<Served>> {
    if let Some(served) = local().served(region, port) {
        return Ok(served);
    }
    let served = Served::import(region, port, keeper)?;
    Ok(local().add_served(served))
}

impl Drop for Bound {
    /// Frees what nobody uses now, when this was the last copy of the binding.
    fn drop(&mut self) {
        self.served.clear();
        self.crossings = Crossings::default();
        for hold in &mut self.holds {
            hold.proof = None;
        }
        let ended =
            |hold: &Hold| hold.region.folder.is_some() && !is_alive(&hold.region.ledger, hold.binding);
        if !self.holds.iter().any(ended) {
            return;
        }
        let Ok(space) = Space::enter() else { return };
        if let [own, watched] = &self.holds[..] {
            forget_monitor(&watched.region, own.region.ledger.id);
        }
        for hold in self.holds.drain(..) {
            let Ok(control) = hold.region.ledger.control() else { continue };
            let used = sweep(&hold.region);
            drop(control);
            if let Some(folder) = hold.region.folder.as_ref().filter(|_| !used) {
                space.remove(folder, &hold.region.ledger);
            }
        }
    }
}

/// Has the rings of a region forget the monitor whose rings are in region `id`.
fn forget_monitor(watched: &Region, id: u16) {
    for number in watched.ledger.ports().flat_map(|port| port.rings()).filter(|n| *n < watched.layout().rings)
    {
        let record = watched.ledger.ring(number);
        let Some(_held) = record.lock() else { continue };
        record
            .monitors()
            .filter(|word| (word >> 16) as u16 == id)
            .for_each(|word| record.remove_monitor(word));
    }
}
