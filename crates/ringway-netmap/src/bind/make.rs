//! Regions, found or made.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ringway::Port;
use ringway_abi::RegionSpec;
use ringway_abi::layout::{FIRST_BUF, RING_HEADER, SLOT_SIZE};
use ringway_sys::bpf::map_id;
use ringway_sys::error::{Error, Result};
use ringway_sys::maps::mapped_array;

use crate::ledger::{Facts, Ledger, PORT_INTERFACES, PortRecord, RINGS_MAX, RegionKind};
use crate::local::{enter_region, local};
use crate::region::Region;
use crate::served::Settings;
use crate::space::{INTERFACES, Space};

/// Bytes of a buffer that interfaces receive into.
const BUF_SIZE: u32 = 2112;
/// Bytes of a buffer of pipes and monitors.
const PLAIN_BUF_SIZE: u32 = 2048;
/// Bindings of the region of interfaces.
const BINDINGS: u32 = 192;

/// The region that all interfaces share.
pub(crate) fn interfaces_region(space: &Space) -> Result<Arc<Region>> {
    if let Some(region) = known_region(space, |ledger| ledger.id == INTERFACES)? {
        return Ok(region);
    }
    let settings = Settings::read()?;
    let ring_bytes = RING_HEADER + settings.slots as usize * SLOT_SIZE;
    let rings = (settings.memory / 4 / ring_bytes).min(RINGS_MAX as usize);
    let buffers = (settings.memory - rings * ring_bytes) / BUF_SIZE as usize;
    let spec = RegionSpec {
        interfaces: BINDINGS + PORT_INTERFACES,
        rings: rings as u32,
        slots: settings.slots,
        buffers: buffers as u32,
        buf_size: BUF_SIZE,
    };
    let bytes = spec.layout().map_or(0, |layout| layout.total);
    let map =
        mapped_array("netmap_region", bytes, 1, "netmap").map_err(|e| e.cure_if_denied("run as root"))?;
    let memory = map.as_fd().try_clone_to_owned().map_err(|e| Error::io("netmap", "dup failed", e))?;
    let map =
        map_id(memory.as_fd()).map_err(|e| Error::io("netmap", "asking for the id of a map failed", e))?;
    new_region(space, Some(INTERFACES), RegionKind::Interfaces, "interfaces", spec, (Some(memory), map))
}

/// A region whose ledger is as wanted, in this process or another.
pub(crate) fn known_region(space: &Space, wanted: impl Fn(&Ledger) -> bool) -> Result<Option<Arc<Region>>> {
    let found = space.regions().into_iter().find(|(_, ledger)| wanted(ledger));
    found.map(|(folder, ledger)| enter_region(folder, ledger)).transpose()
}

/// A new region in a file.
pub(crate) fn file_region(
    space: &Space,
    key: &str,
    rings: u32,
    slots: u32,
    extra_bufs: u32,
) -> Result<Arc<Region>> {
    let buffers = FIRST_BUF + (rings * slots).max(1) + extra_bufs;
    let spec = RegionSpec { interfaces: 64, rings, slots, buffers, buf_size: PLAIN_BUF_SIZE };
    new_region(space, None, RegionKind::Virtual, key, spec, (None, 0))
}

/// A new region over memory that exists.
pub(crate) fn switch_region(
    space: &Space,
    key: &str,
    spec: RegionSpec,
    memory: OwnedFd,
) -> Result<Arc<Region>> {
    let map = map_id(memory.as_fd()).map_err(|e| Error::io(key, "asking for the id of a map failed", e))?;
    new_region(space, None, RegionKind::SwitchPort, key, spec, (Some(memory), map))
}

fn new_region(
    space: &Space,
    id: Option<u16>,
    kind: RegionKind,
    key: &str,
    spec: RegionSpec,
    (memory, map): (Option<OwnedFd>, u32),
) -> Result<Arc<Region>> {
    let (folder, id) = space.make(id)?;
    let facts = Facts { kind, id, key: key.to_owned(), spec, map };
    let ledger = Ledger::make(folder.dir.create("ledger")?, &facts)?;
    let memory = match memory {
        Some(memory) => memory,
        None => {
            let file = folder.dir.create("memory")?;
            let io = |e| Error::io(key, "making the memory of its region failed", e);
            file.set_len(ledger.layout().total as u64).map_err(io)?;
            file.into()
        }
    };
    Ok(local().add_region(Region::map(ledger, Some(folder), memory)?))
}

/// Notes where the rings of a port that was just opened begin.
pub(super) fn begin_rings(region: &Region, record: &PortRecord<'_>, port: &Port) {
    let slots = record.slots();
    for (number, ring) in record.tx().zip(&port.tx) {
        region.ledger.ring(number).begin(slots, (ring.first(), ring.tail()), None);
    }
    for (number, ring) in record.rx().zip(&port.rx) {
        region.ledger.ring(number).begin(slots, (ring.first(), ring.tail()), None);
    }
}
