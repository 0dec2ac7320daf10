//! Ports that stay: in a switch they are the switch's, and else they stand alone.

use std::sync::Arc;

use ringway_sys::error::{Error, ErrorKind, Result};

use super::make::known_region;
use super::pipe::{FILE_EXTRA, own_rings};
use super::{Found, switch};
use crate::failure::told;
use crate::ledger::{PortKind, RegionKind};
use crate::memory::Errno;
use crate::numbers::Mode;
use crate::region::Region;
use crate::space::Space;
use crate::vale::LastingPort;

/// A port that stays: its rings, or while it is in a switch the switch's.
pub(super) fn find(space: &Space, name: &str, mode: Mode) -> std::result::Result<Option<Found>, Errno> {
    let Some(lasting) = LastingPort::find(space, name).map_err(|e| told(&e))? else { return Ok(None) };
    if let Some(within) = lasting.switch_now() {
        return switch::find(space, &within, name, mode).map(Some);
    }
    if !matches!(mode, Mode::AllNic | Mode::OneNic) {
        return Err(Errno(libc::EINVAL));
    }
    let (region, index) = alone(space, &lasting).map_err(|e| told(&e))?;
    let record = region.ledger.port(index);
    let counts = [record.tx().len() as u32, 0, record.rx().len() as u32, 0];
    let slots = record.slots();
    Ok(Some(Found {
        region,
        port: Some(index),
        host: None,
        gathered: None,
        served: [None, None],
        counts,
        slots,
        bells: Vec::new(),
    }))
}

/// The rings of a port that is in no switch: what is sent is gone.
fn alone(space: &Space, port: &LastingPort) -> Result<(Arc<Region>, u32)> {
    let key = port.region_key();
    if let Some(region) = known_region(space, |l| l.kind == RegionKind::Virtual && l.key == key)? {
        let record = region.ledger.ports().find(|p| p.kind() == PortKind::Alone).map(|p| p.index);
        return record
            .map(|index| (region, index))
            .ok_or_else(|| Error::new(ErrorKind::Busy, &key, "its rings are being freed").cure("try again"));
    }
    let [tx_rings, rx_rings] = port.rings;
    own_rings(space, &key, PortKind::Alone, (tx_rings, rx_rings, port.slots), FILE_EXTRA)
}
