//! The rx ring of a host. Ringway has one for each CPU, for what the kernel sends there; programs expect one. So they get a ring beside
//! these, and a sync moves their frames into it.

use ringway_sys::error::Result;

use crate::failure::out_of_memory;
use crate::ledger::{PortFacts, PortKind};
use crate::region::Region;

/// The record of the ring for the rx rings of port `from`, which has the number `ringid` for programs. Made when there is none. The
/// caller has the region's control lock.
pub(super) fn ring(region: &Region, from: u32, ringid: u32) -> Result<u32> {
    let ledger = &region.ledger;
    let from = ledger.port(from);
    let (name, slots, first) = (from.name(), from.slots(), from.rx().start);
    if let Some(port) = ledger.ports().find(|p| p.kind() == PortKind::Gathered && p.name() == name) {
        return Ok(port.index);
    }
    let full = || out_of_memory(&name, "no room for a ring in the region of interfaces".into());
    let record = ledger.free_port().ok_or_else(full)?;
    let first_ring = ledger.free_rings(1).ok_or_else(full)?;
    let bufs = ledger.take_all_buffers(slots).ok_or_else(full)?;
    region.lay_out_ring(first_ring, (ringid, true), slots, &bufs);
    ledger.ring(first_ring).begin(slots, (0, 0), Some(first));
    let facts = PortFacts {
        kind: PortKind::Gathered,
        name: name.clone(),
        first_ring,
        tx_rings: 0,
        rx_rings: 1,
        slots,
    };
    record.begin(&facts);
    Ok(record.index)
}
