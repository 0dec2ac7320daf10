//! Regions without a port, for tests of what moves between rings.

use std::collections::BTreeSet;

use ringway_abi::RegionSpec;

use crate::ledger::{Facts, Ledger, RegionKind};
use crate::region::Region;
use crate::ring_words::RingWords;

/// A region with two rings of so many slots, each slot with a buffer of its own.
pub(crate) fn region(slots: u32) -> Region {
    let scratch = || ringway_sys::fd::scratch(c"test").unwrap();
    let spec = RegionSpec { rings: 2, slots, buffers: 2 + 2 * slots, ..RegionSpec::default() };
    let facts = Facts { kind: RegionKind::Interfaces, id: 1, key: "x".into(), spec, map: 0 };
    let ledger = Ledger::make(scratch(), &facts).unwrap();
    let memory = scratch();
    memory.set_len(ledger.layout().total as u64).unwrap();
    let region = Region::map(ledger, None, memory.into()).unwrap();
    for ring in 0..2 {
        let bufs = region.ledger.take_all_buffers(slots).unwrap();
        region.lay_out_ring(ring, (0, true), slots, &bufs);
        region.ledger.ring(ring).begin(slots, (0, 0), None);
    }
    region
}

/// The buffers that the slots of two rings name.
pub(crate) fn buffers(rings: [&RingWords<'_>; 2]) -> BTreeSet<u32> {
    rings.iter().flat_map(|ring| (0..ring.slots).map(|i| ring.slot(i).buf)).collect()
}
