//! Requests: what each kind does.

use crate::bind::{ask, bind, interfaces_region, known_region};
use crate::body::{self, Pools, PortInfo, Register};
use crate::bound::Bound;
use crate::failure::told;
use crate::memory::Errno;
use crate::numbers::{Kind, Mode};
use crate::region::Region;
use crate::space::{INTERFACES, Space};
use crate::vale;

/// What a request did: bound the descriptor, or answered.
#[derive(Debug)]
pub(crate) enum Done {
    Bound(Box<Bound>),
    Answered,
}

/// Does what a request asks for. The answer goes into its body; a list puts a name there, too.
pub(crate) fn serve(
    kind: Kind,
    name: &mut Vec<u8>,
    body: &mut [u8],
    bound: Option<&Bound>,
) -> Result<Done, Errno> {
    match kind {
        Kind::Register if bound.is_some() => return Err(Errno(libc::EBUSY)),
        Kind::Register => {
            let mut wish = Register::of(body);
            let bound = bind(name, &mut wish)?;
            wish.put(body);
            return Ok(Done::Bound(Box::new(bound)));
        }
        Kind::PortInfoGet => port_info(name, body)?,
        Kind::PoolsInfoGet => pools_info(name, body)?,
        Kind::PortHdrGet => {
            let length = header(name)?;
            body::put_header_length(body, length);
        }
        Kind::PortHdrSet => set_header(name, body::header_length(body))?,
        Kind::ValeAttach => vale::attach(name, body)?,
        Kind::ValeDetach => vale::detach(name, body)?,
        Kind::ValeList => vale::list(name, body)?,
        Kind::ValeNewif => vale::new_port(name, body)?,
        Kind::ValeDelif => vale::delete_port(name)?,
        Kind::ValePollingEnable
        | Kind::ValePollingDisable
        | Kind::SyncKloopStart
        | Kind::SyncKloopStop
        | Kind::CsbEnable => return Err(Errno(libc::EOPNOTSUPP)),
    }
    Ok(Done::Answered)
}

fn port_info(name: &[u8], body: &mut [u8]) -> Result<(), Errno> {
    if name.is_empty() {
        let region = region_of(PortInfo::mem_id(body))?;
        let info =
            PortInfo { memsize: region.bytes() as u64, mem_id: region.ledger.id, ..PortInfo::default() };
        info.put(body);
        return Ok(());
    }
    let info = ask(name, Mode::AllNic, |found| PortInfo {
        memsize: found.region.bytes() as u64,
        slots: [found.slots; 2],
        rings: [found.counts[0], found.counts[2], found.counts[1], found.counts[3]].map(|n| n as u16),
        mem_id: found.region.ledger.id,
    })?;
    info.put(body);
    Ok(())
}

fn pools_info(name: &[u8], body: &mut [u8]) -> Result<(), Errno> {
    let pools = match name {
        [] if Pools::mem_id(body) == 0 => return Err(Errno(libc::EINVAL)),
        [] => pools(&*region_of(Pools::mem_id(body))?),
        name => ask(name, Mode::AllNic, |found| pools(&found.region))?,
    };
    pools.put(body);
    Ok(())
}

fn pools(region: &Region) -> Pools {
    let layout = region.layout();
    Pools {
        memsize: region.bytes() as u64,
        mem_id: region.ledger.id,
        pools: [
            (layout.if_ofs as u64, layout.interfaces, ringway_abi::layout::IF_SIZE as u32),
            (layout.ring_ofs as u64, layout.rings, layout.ring_size as u32),
            (layout.buf_ofs as u64, layout.bufs, layout.buf_size),
        ],
    }
}

/// The region with an id; 0 stands for that of interfaces, which is made if it is missing.
fn region_of(id: u16) -> Result<std::sync::Arc<Region>, Errno> {
    let space = Space::enter().map_err(|e| told(&e))?;
    if matches!(id, 0 | INTERFACES) {
        let region = interfaces_region(&space).map_err(|e| told(&e))?;
        let _ = space.regions(); // removes its folder, unless somebody is bound
        return Ok(region);
    }
    let known = known_region(&space, |ledger| ledger.id == id).map_err(|e| told(&e))?;
    known.ok_or(Errno(libc::ENOENT))
}

/// The lengths of virtio headers that there are, and none.
const HEADERS: [u32; 3] = [0, 10, 12];

/// Sets the length of the headers before the frames of a port of a switch. It holds until the port's last binding ends.
fn set_header(name: &[u8], length: u32) -> Result<(), Errno> {
    if !vale::is_port_of_switch(name)? {
        return Err(Errno(libc::ENXIO));
    }
    if !HEADERS.contains(&length) {
        return Err(Errno(libc::EINVAL));
    }
    ask(name, Mode::AllNic, |found| {
        if let Some(port) = found.port {
            found.region.ledger.port(port).set_header(length as u16);
        }
    })
}

/// That length.
fn header(name: &[u8]) -> Result<u32, Errno> {
    ask(name, Mode::AllNic, |found| {
        found.port.map_or(0, |port| found.region.ledger.port(port).header().into())
    })
}
