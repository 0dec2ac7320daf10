//! Freeing what dead bindings had. The next process that binds or closes does it for one that was killed.

use std::sync::atomic::Ordering::Relaxed;

use crate::ledger::{PortKind, PortRecord, RegionKind};
use crate::region::Region;
use crate::space::is_alive;

/// Ends bindings that nobody has, and ports without bindings. The caller has the region's control lock. Whether a binding is left.
pub(crate) fn sweep(region: &Region) -> bool {
    let ledger = &region.ledger;
    if region.folder.is_none() {
        return true; // it has the ledger by the proof of a binding, whose lock a look would take away
    }
    for binding in ledger.bindings().filter(|b| !is_alive(ledger, b.index)) {
        free_extra_buffers(region, binding.index);
        binding.end();
    }
    let used: Vec<u32> = ledger.bindings().flat_map(|b| b.facts().ports).flatten().collect();
    let is_used = |port: &PortRecord<'_>| used.contains(&port.index);
    let unused: Vec<_> =
        ledger.ports().filter(|port| !is_used(port) && !other_is_used(region, port, &used)).collect();
    for port in unused {
        if ledger.kind != RegionKind::SwitchPort {
            free_ring_buffers(region, &port);
        }
        port.end();
    }
    ledger.bindings().next().is_some()
}

/// Both ends of a pipe are there as long as one of them is bound, and a ring that gathers as long as the rings that it gathers from.
fn other_is_used(region: &Region, port: &PortRecord<'_>, used: &[u32]) -> bool {
    if !matches!(port.kind(), PortKind::Pipe | PortKind::Gathered) {
        return false;
    }
    let peer = port.rings().next().and_then(|ring| region.ledger.ring(ring).peer());
    let owner = peer.and_then(|ring| region.ledger.ports().find(|port| port.rings().contains(&ring)));
    owner.is_some_and(|owner| used.contains(&owner.index))
}

/// Frees the list that the program left. A list that goes round ends where it meets a buffer that is free already.
fn free_extra_buffers(region: &Region, binding: u32) {
    let mut next = region.extra_head(binding).load(Relaxed);
    while next != 0 && region.ledger.give_buffer(next) {
        next = region.next_buffer(next).map_or(0, |word| word.load(Relaxed));
    }
    region.extra_head(binding).store(0, Relaxed);
}

fn free_ring_buffers(region: &Region, port: &PortRecord<'_>) {
    for number in port.rings().filter(|ring| *ring < region.layout().rings) {
        let ring = region.ring(number, port.slots());
        for i in 0..ring.slots {
            region.ledger.give_buffer(ring.slot(i).buf);
        }
    }
}
