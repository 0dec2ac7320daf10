//! Regions and ports that this process has open: its descriptors share them.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ringway_sys::bpf::map_by_id;
use ringway_sys::error::{Error, Result};

use crate::ledger::Ledger;
use crate::region::Region;
use crate::served::Served;
use crate::space::{Folder, Space, is_same};

/// What the descriptors of this process share.
#[derive(Debug, Default)]
pub(crate) struct Local {
    regions: Vec<Weak<Region>>,
    served: Vec<Weak<Served>>,
}

static LOCAL: Mutex<Local> = Mutex::new(Local { regions: Vec::new(), served: Vec::new() });

/// The lists. A thread has the lock of folders ([`Space`]) before, if it needs that.
pub(crate) fn local() -> MutexGuard<'static, Local> {
    LOCAL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Local {
    /// The region with this ledger, if the process has it.
    pub(crate) fn region(&mut self, ledger: &File) -> Option<Arc<Region>> {
        self.regions.retain(|r| r.strong_count() > 0);
        self.regions.iter().filter_map(Weak::upgrade).find(|r| is_same(r.ledger.file(), ledger))
    }

    pub(crate) fn add_region(&mut self, region: Region) -> Arc<Region> {
        let region = Arc::new(region);
        self.regions.push(Arc::downgrade(&region));
        region
    }

    /// The port of a region, if the process has it.
    pub(crate) fn served(&mut self, region: &Arc<Region>, index: u32) -> Option<Arc<Served>> {
        self.served.retain(|s| s.strong_count() > 0);
        self.served
            .iter()
            .filter_map(Weak::upgrade)
            .find(|s| s.index == index && Arc::ptr_eq(&s.region, region))
    }

    pub(crate) fn add_served(&mut self, served: Served) -> Arc<Served> {
        served.note_holder();
        let served = Arc::new(served);
        self.served.push(Arc::downgrade(&served));
        served
    }
}

/// The region in a folder.
pub(crate) fn enter_region(folder: Folder, ledger: Ledger) -> Result<Arc<Region>> {
    ledger.check_namespace()?;
    let mut local = local();
    if let Some(region) = local.region(ledger.file()) {
        return Ok(region);
    }
    let memory: OwnedFd = match ledger.map_id() {
        0 => folder.dir.open_file("memory")?.into(),
        id => map_by_id(id).map_err(|e| {
            Error::io(&ledger.key, "opening the region that another process made failed", e)
                .cure_if_denied("run as root")
        })?,
    };
    Ok(local.add_region(Region::map(ledger, Some(folder), memory)?))
}

/// The region of a binding that another process made: `proof` is a descriptor of its ledger.
pub(crate) fn inherit_region(proof: &OwnedFd, memory: OwnedFd) -> Result<Arc<Region>> {
    let io = |e| Error::io("netmap", "copying a descriptor failed", e);
    let proof = File::from(proof.as_fd().try_clone_to_owned().map_err(io)?);
    if let Some(region) = local().region(&proof) {
        return Ok(region);
    }
    let seen = Ledger::open(proof)?;
    seen.check_namespace()?;
    // A file of its own: locks of the proof belong to all copies of that.
    let reached = Space::enter().and_then(|space| {
        let folder = space.folder(seen.id)?;
        let ledger = Ledger::open(folder.dir.open_file("ledger")?)?;
        Ok((folder, ledger))
    });
    let region = match reached {
        Ok((folder, ledger)) if is_same(ledger.file(), seen.file()) => {
            Region::map(ledger, Some(folder), memory)?
        }
        _ => Region::map(seen, None, memory)?,
    };
    Ok(local().add_region(region))
}

/// In the child of a fork: other processes may ask it for its ports, when its parent has ended.
pub(crate) fn forked() {
    local().served.iter().filter_map(Weak::upgrade).for_each(|served| served.note_holder());
}
