//! Ports of switches. Each has the region that its switch made for it.

use std::os::fd::AsFd;
use std::sync::Arc;

use ringway::{OpenOptions, Port};
use ringway_abi::RegionSpec;
use ringway_sys::error::{Error, Result};

use super::found::Found;
use super::make::{begin_rings, known_region, switch_region};
use crate::failure::{out_of_memory, told};
use crate::ledger::{PortFacts, PortKind, PortRecord, RegionKind};
use crate::local::local;
use crate::memory::Errno;
use crate::numbers::Mode;
use crate::region::Region;
use crate::served::{Served, keep};
use crate::space::Space;
use crate::sweep::sweep;
use crate::vale::on_switch;

pub(super) fn find(space: &Space, switch: &str, port: &str, mode: Mode) -> std::result::Result<Found, Errno> {
    if !matches!(mode, Mode::AllNic | Mode::OneNic) {
        return Err(Errno(libc::EINVAL));
    }
    let key = format!("{switch}:{port}");
    let served = served(space, &key).map_err(|e| told(&e))?;
    let region = served.region.clone();
    let record = region.ledger.port(served.index);
    let counts = [record.tx().len() as u32, 0, record.rx().len() as u32, 0];
    let (index, slots) = (served.index, record.slots());
    Ok(Found {
        region,
        port: Some(index),
        host: None,
        gathered: None,
        served: [Some(served), None],
        counts,
        slots,
        bells: Vec::new(),
    })
}

fn served(space: &Space, key: &str) -> Result<Arc<Served>> {
    let known = known_region(space, |ledger| ledger.kind == RegionKind::SwitchPort && ledger.key == key)?;
    let Some(region) = known else { return make(space, key) };
    let control = region.ledger.control()?;
    sweep(&region);
    let Some(record) = region.ledger.ports().next() else {
        drop(control);
        return make(space, key);
    };
    if let Some(served) = local().served(&region, record.index) {
        return Ok(served);
    }
    let served = Served::ask_others(&region, record.index)?;
    Ok(local().add_served(served))
}

/// Opens the port, and the switch if there is none of that name.
fn make(space: &Space, key: &str) -> Result<Arc<Served>> {
    let port = open(key)?;
    let shape = port.info().shape;
    let memory = port.region().as_fd().try_clone_to_owned().map_err(|e| Error::io(key, "dup failed", e))?;
    let layout = port.region().layout();
    let spec = RegionSpec {
        interfaces: layout.interfaces,
        rings: layout.rings,
        slots: layout.slots,
        buffers: layout.bufs,
        buf_size: layout.buf_size,
    };
    let region = switch_region(space, key, spec, memory)?;
    let full = || out_of_memory(key, "no place for the port in its region".into());
    let record = region.ledger.free_port().ok_or_else(full)?;
    let facts = PortFacts {
        kind: PortKind::Served,
        name: key.to_owned(),
        first_ring: 0,
        tx_rings: shape.tx_rings,
        rx_rings: shape.rx_rings,
        slots: shape.slots,
    };
    record.begin(&facts);
    begin_rings(&region, &record, &port);
    mark_buffers(&region, &record);
    let keeper = keep(&port, region.memory())?;
    let index = record.index;
    Ok(local().add_served(Served::new(&region, index, port, keeper)))
}

/// All buffers of the region are in its rings.
fn mark_buffers(region: &Region, record: &PortRecord<'_>) {
    for number in record.rings() {
        let ring = region.ring(number, record.slots());
        (0..ring.slots).for_each(|i| region.ledger.mark_buffer(ring.slot(i).buf));
    }
}

fn open(key: &str) -> Result<Port> {
    let (switch, _) = key.split_once(':').unwrap_or((key, ""));
    on_switch(switch, || OpenOptions::new().open(key))
}
