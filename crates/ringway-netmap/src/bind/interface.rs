//! Interfaces and their hosts. A port of Ringway is opened for the whole interface with its first binding, and one for its host's rings
//! when somebody binds those.

use std::os::fd::AsFd;
use std::sync::Arc;

use ringway::{FreeObjects, Port};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::net;

use super::found::Found;
use super::gather;
use super::make::{begin_rings, interfaces_region};
use crate::body::Register;
use crate::failure::{out_of_memory, told};
use crate::ledger::{PORT_INTERFACES, PortFacts, PortKind};
use crate::local::local;
use crate::memory::Errno;
use crate::numbers::Mode;
use crate::region::Region;
use crate::served::{Served, Settings, keep};
use crate::space::{INTERFACES, Space};
use crate::sweep::sweep;

/// Which rings of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Nic,
    Host,
}

pub(super) fn find(
    space: &Space,
    name: &str,
    mode: Mode,
    wish: &Register,
) -> std::result::Result<Found, Errno> {
    let index = net::index(name).map_err(|_| Errno(libc::ENXIO))?;
    if !matches!(wish.mem_id, 0 | INTERFACES) {
        return Err(Errno(libc::EINVAL));
    }
    let region = interfaces_region(space).map_err(|e| told(&e))?;
    let control = region.ledger.control().map_err(|e| told(&e))?;
    sweep(&region);
    let nic = matches!(mode, Mode::AllNic | Mode::NicAndHost | Mode::OneNic);
    let host = matches!(mode, Mode::Host | Mode::NicAndHost | Mode::OneHost);
    let open = |wanted: bool, side| wanted.then(|| port(&region, name, index, side)).transpose();
    let served = [open(nic, Side::Nic).map_err(|e| told(&e))?, open(host, Side::Host).map_err(|e| told(&e))?];
    let [port, host] = [0, 1].map(|k| served[k].as_ref().map(|s| s.index));
    let counts = counts(&region, name, index);
    let ring = |host| gather::ring(&region, host, counts[2]);
    let gathered = host.map(ring).transpose().map_err(|e| told(&e))?;
    drop(control);
    let slots = port.or(host).map_or(0, |p| region.ledger.port(p).slots());
    Ok(Found { region, port, host, gathered, served, counts, slots, bells: Vec::new() })
}

/// What the ledger calls the port of an interface or of its host.
fn record_name(name: &str, side: Side) -> String {
    if side == Side::Host { format!("{name}^") } else { name.to_owned() }
}

/// tx, host tx, rx and host rx rings of an interface, whether its port is open or not.
fn counts(region: &Region, name: &str, index: u32) -> [u32; 4] {
    let record = record_name(name, Side::Nic);
    let open = region.ledger.ports().find(|p| p.kind() == PortKind::Served && p.name() == record);
    let [tx, rx] = match open {
        Some(port) => [port.tx(), port.rx()].map(|rings| rings.len() as u32),
        None => net::Interface::new(index).map_or([1, 1], |i| {
            let (rx, tx) = i.queues();
            [tx, rx]
        }),
    };
    [tx, HOST_RINGS, rx, HOST_RINGS]
}

/// tx rings of a host, and rx rings that programs see of it.
const HOST_RINGS: u32 = 1;

fn cpus() -> u32 {
    libbpf_rs::num_possible_cpus().map_or(1, |n| n as u32)
}

/// The port of an interface: of this process, of another one, or a new one. The caller has the region's control lock.
fn port(region: &Arc<Region>, name: &str, index: u32, side: Side) -> Result<Arc<Served>> {
    let record = record_name(name, side);
    let open = region.ledger.ports().find(|p| p.kind() == PortKind::Served && p.name() == record);
    let Some(open) = open else { return make(region, name, index, side) };
    if let Some(served) = local().served(region, open.index) {
        return Ok(served);
    }
    let served = Served::ask_others(region, open.index)?;
    Ok(local().add_served(served))
}

/// Opens the port of Ringway in a part of the region.
fn make(region: &Arc<Region>, name: &str, index: u32, side: Side) -> Result<Arc<Served>> {
    let settings = Settings::read()?;
    let ledger = &region.ledger;
    let slots = settings.slots.min(region.layout().slots);
    let (rx, tx) = net::Interface::new(index).map_or((1, 1), |i| i.queues());
    let most = if side == Side::Host { HOST_RINGS + cpus() } else { (rx + tx).max(2) };
    let full = || {
        out_of_memory(name, format!("no room for {most} rings of {slots} slots in the region of interfaces"))
    };
    let record = ledger.free_port().filter(|p| p.index < PORT_INTERFACES).ok_or_else(full)?;
    let first_ring = ledger.free_rings(most).ok_or_else(full)?;
    let bufs = ledger.take_all_buffers(most * slots).ok_or_else(full)?;
    let opened = open_in(region, name, side, (record.index, first_ring, most), &bufs, &settings);
    let (port, keeper) = match opened {
        Ok(opened) => opened,
        Err(e) => {
            bufs.into_iter().for_each(|buf| {
                ledger.give_buffer(buf);
            });
            return Err(e);
        }
    };
    let shape = port.info().shape;
    let facts = PortFacts {
        kind: PortKind::Served,
        name: record_name(name, side),
        first_ring,
        tx_rings: shape.tx_rings,
        rx_rings: shape.rx_rings,
        slots: shape.slots,
    };
    record.begin(&facts);
    begin_rings(region, &record, &port);
    if side == Side::Host {
        record.tx().zip(tx..).for_each(|(number, id)| region.set_ringid(number, id));
    }
    give_spare(region, &record, &bufs);
    Ok(local().add_served(Served::new(region, record.index, port, keeper)))
}

/// Gives back what the port did not take of the buffers that were set apart for it.
fn give_spare(region: &Region, record: &crate::ledger::PortRecord<'_>, bufs: &[u32]) {
    let mut used = std::collections::HashSet::new();
    for number in record.rings() {
        let ring = region.ring(number, record.slots());
        used.extend((0..ring.slots).map(|i| ring.slot(i).buf));
    }
    bufs.iter().filter(|buf| !used.contains(buf)).for_each(|buf| {
        region.ledger.give_buffer(*buf);
    });
}

/// How often a port is opened that a dying process has not let go yet, and the pause between.
const TRIES: u32 = 40;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

fn open_in(
    region: &Arc<Region>,
    name: &str,
    side: Side,
    (interface, first_ring, rings): (u32, u32, u32),
    bufs: &[u32],
    settings: &Settings,
) -> Result<(Port, Option<std::os::fd::OwnedFd>)> {
    let port_name = match side {
        Side::Host => format!("ebpf:{name}^"),
        Side::Nic => format!("{}:{name}", settings.backend),
    };
    let io = |e| Error::io(name, "copying a descriptor failed", e);
    let mut tries = 0;
    loop {
        let memory = region.memory().as_fd().try_clone_to_owned().map_err(io)?;
        let free = FreeObjects {
            interfaces: vec![region.layout().interfaces - 1 - interface],
            rings: (first_ring..first_ring + rings).collect(),
            bufs: bufs.to_vec(),
        };
        let whole = ringway::Region::join(memory, &region.ledger.spec(), free)?;
        match settings.options(&whole).open(&port_name) {
            Err(e) if e.kind() == ErrorKind::Busy && tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            opened => {
                let port = opened?;
                let keeper = keep(&port, region.memory())?;
                return Ok((port, keeper));
            }
        }
    }
}
