//! Pipes, and rings that stand alone. They are filled by other rings, or by nobody.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::net;

use super::found::Found;
use super::make::{file_region, interfaces_region, known_region};
use crate::body::Register;
use crate::failure::{out_of_memory, told};
use crate::ledger::{PortFacts, PortKind, PortRecord, RegionKind};
use crate::memory::Errno;
use crate::name::{End, Target};
use crate::numbers::Mode;
use crate::region::Region;
use crate::served::Settings;
use crate::space::{INTERFACES, Space};
use crate::sweep::sweep;

/// Rings and slots of a pipe at most.
const RINGS_MAX: u32 = 256;
const SLOTS_MAX: u32 = 4096;

/// Bells of an end at most; further pairs of rings share them.
const BELLS_MAX: u32 = 64;

/// Rings of a region for pipes alone, and its spare buffers.
const FILE_RINGS: u32 = 64;
pub(super) const FILE_EXTRA: u32 = 16384;

type Name<'a> = (&'a str, &'a str, End);

pub(super) fn find(
    space: &Space,
    pipe: Name<'_>,
    mode: Mode,
    wish: &Register,
) -> std::result::Result<Found, Errno> {
    if !matches!(mode, Mode::AllNic | Mode::OneNic) {
        return Err(Errno(libc::EINVAL));
    }
    let region = region(space, pipe.0, wish).map_err(|e| told(&e))?;
    if wish.mem_id != 0 && wish.mem_id != region.ledger.id {
        return Err(Errno(libc::EINVAL));
    }
    let control = region.ledger.control().map_err(|e| told(&e))?;
    sweep(&region);
    let [own, other] = ends(&region, pipe, wish).map_err(|e| told(&e))?;
    drop(control);
    let record = region.ledger.port(own);
    let counts = [record.tx().len() as u32, 0, record.rx().len() as u32, 0];
    let slots = record.slots();
    let bells = bells(&region, [own, other], counts[0]).map_err(|e| told(&e))?;
    Ok(Found {
        region,
        port: Some(own),
        host: None,
        gathered: None,
        served: [None, None],
        counts,
        slots,
        bells,
    })
}

/// The region that pipes of this parent lie in: that of interfaces, or one of their own.
fn region(space: &Space, parent: &str, wish: &Register) -> Result<Arc<Region>> {
    let is_interface =
        matches!(Target::parse(parent.as_bytes()), Ok(Target::Interface(_))) && net::exists(parent);
    if is_interface || wish.mem_id == INTERFACES || is_there(space, parent)? {
        return interfaces_region(space);
    }
    let key = format!("pipes of {parent}");
    if let Some(region) = known_region(space, |l| l.kind == RegionKind::Virtual && l.key == key)? {
        return Ok(region);
    }
    let slots = Settings::read()?.slots.max(wish.slots[0]).clamp(2, SLOTS_MAX);
    file_region(space, &key, FILE_RINGS, slots, FILE_EXTRA)
}

/// Whether the region of interfaces has a pipe of this parent, which is no interface.
fn is_there(space: &Space, parent: &str) -> Result<bool> {
    let Some(region) = known_region(space, |ledger| ledger.id == INTERFACES)? else { return Ok(false) };
    let is_of_parent = |name: &str| name.rsplit_once(['{', '}']).is_some_and(|(before, _)| before == parent);
    Ok(region.ledger.ports().any(|port| port.kind() == PortKind::Pipe && is_of_parent(&port.name())))
}

/// The records of an end and of the other one, which are made together.
fn ends(region: &Region, (parent, id, end): Name<'_>, wish: &Register) -> Result<[u32; 2]> {
    let names = [end, end.other()].map(|end| format!("{parent}{}{id}", end.mark()));
    let known = names.clone().map(|name| {
        region.ledger.ports().find(|p| p.kind() == PortKind::Pipe && p.name() == name).map(|p| p.index)
    });
    if let [Some(own), Some(other)] = known {
        return Ok([own, other]);
    }
    let slots = match wish.slots[0] {
        0 => Settings::read()?.slots,
        wanted => wanted,
    };
    let slots = slots.clamp(2, SLOTS_MAX.min(region.layout().slots));
    let rings = u32::from(wish.rings[0].max(wish.rings[2])).clamp(1, RINGS_MAX);
    let full = || out_of_memory(&names[0], format!("no room for a pipe of {rings} rings with {slots} slots"));
    if region.ledger.free_ports() < 2 {
        return Err(full());
    }
    let first = region.ledger.free_rings(4 * rings).ok_or_else(full)?;
    let bufs = region.ledger.take_all_buffers(4 * rings * slots).ok_or_else(full)?;
    let mut made = [0; 2];
    for (k, name) in names.iter().enumerate() {
        let first_ring = first + 2 * rings * k as u32;
        let facts = PortFacts {
            kind: PortKind::Pipe,
            name: name.clone(),
            first_ring,
            tx_rings: rings,
            rx_rings: rings,
            slots,
        };
        let record = region.ledger.free_port().ok_or_else(full)?;
        lay_out(region, &facts, &bufs[(2 * rings * slots) as usize * k..]);
        for ring in 0..rings {
            let (mine, theirs) = (first_ring + ring, first + 2 * rings * (1 - k as u32) + ring);
            region.ledger.ring(mine).begin(slots, (0, slots - 1), Some(theirs + rings));
            region.ledger.ring(mine + rings).begin(slots, (0, 0), Some(theirs));
        }
        record.begin(&facts);
        made[k] = record.index;
    }
    Ok(made)
}

/// Gives the rings of a new port their buffers.
fn lay_out(region: &Region, facts: &PortFacts, bufs: &[u32]) {
    let mut bufs = bufs.chunks(facts.slots as usize);
    for k in 0..facts.tx_rings + facts.rx_rings {
        let is_rx = k >= facts.tx_rings;
        let ringid = if is_rx { k - facts.tx_rings } else { k };
        let own = bufs.next().unwrap_or_default();
        region.lay_out_ring(facts.first_ring + k, (ringid, is_rx), facts.slots, own);
    }
}

/// The FIFOs that wake who sleeps on the own end, then on the other end: one for each pair of rings.
fn bells(region: &Region, ends: [u32; 2], pairs: u32) -> Result<Vec<OwnedFd>> {
    let folder = region.folder.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Denied, &region.ledger.key, "the folder of the region can't be reached")
            .cure("bind in a process that sees the run directory and its network namespace")
    })?;
    let pairs = pairs.min(BELLS_MAX);
    let names = ends.iter().flat_map(|port| (0..pairs).map(move |pair| format!("bell{port}.{pair}")));
    names.map(|name| Ok(folder.dir.fifo(&name)?.into())).collect()
}

/// A port whose rings nobody fills or empties, in a region of its own: what monitors have.
pub(super) fn own_rings(
    space: &Space,
    key: &str,
    kind: PortKind,
    (tx_rings, rx_rings, slots): (u32, u32, u32),
    extra_bufs: u32,
) -> Result<(Arc<Region>, u32)> {
    let region = file_region(space, key, (tx_rings + rx_rings).max(1), slots, extra_bufs)?;
    let index = {
        let full = || out_of_memory(key, "no room for its rings".into());
        let bufs = region.ledger.take_all_buffers((tx_rings + rx_rings) * slots).ok_or_else(full)?;
        let record: PortRecord<'_> = region.ledger.free_port().ok_or_else(full)?;
        let facts = PortFacts { kind, name: key.to_owned(), first_ring: 0, tx_rings, rx_rings, slots };
        lay_out(&region, &facts, &bufs);
        for ring in 0..tx_rings {
            region.ledger.ring(ring).begin(slots, (0, slots - 1), None);
        }
        for ring in tx_rings..tx_rings + rx_rings {
            region.ledger.ring(ring).begin(slots, (0, 0), None);
        }
        record.begin(&facts);
        record.index
    };
    Ok((region, index))
}
