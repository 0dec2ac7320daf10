//! A port's place in a region.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::shape::PortShape;
use super::view::RingView;
use crate::abi::{Place, Slot};
use crate::error::Result;
use crate::memory::{CTL_SIZE, Region};

/// A port's place in a region: interface descriptor, rings and their buffers. Given back when the last ring of
/// the port is dropped.
pub(crate) struct Lease {
    region: Region,
    interface: u32,
    rings: Vec<u32>,
    slots: u32,
    owned: bool,
    /// What the place needs for as long as a ring is in use: a lock on it, say.
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("interface", &self.interface)
            .field("rings", &self.rings)
            .finish_non_exhaustive()
    }
}

impl Lease {
    /// Takes a place and lays the rings out, with empty control blocks: tx rings first, each slot with a buffer of its own.
    pub(crate) fn take(region: &Region, name: &str, shape: &PortShape) -> Result<Arc<Self>> {
        let count = shape.tx_rings + shape.rx_rings;
        let mut alloc = region.alloc();
        let (interface, rings) = alloc.take_port(count, count * shape.slots)?;
        let lease =
            Self { region: region.clone(), interface, rings, slots: shape.slots, owned: true, _kept: None };
        let place = Place {
            layout: &region.shared().layout,
            interface,
            rings: &lease.rings,
            tx_rings: shape.tx_rings,
            slots: shape.slots,
            host: shape.host,
        };
        let mem = &region.shared().mem;
        // What former users of the rings left would be taken for words of the new one.
        lease.rings.iter().for_each(|&ring| mem.write(place.layout.ctl(ring), &[0; CTL_SIZE]));
        place.lay_out(name, || alloc.take_buf().unwrap_or_default(), |at, bytes| mem.write(at, bytes));
        drop(alloc);
        Ok(Arc::new(lease))
    }

    /// The place of a port that another process laid out. `kept` is dropped with its last ring.
    pub(crate) fn of(
        region: &Region,
        interface: u32,
        rings: Vec<u32>,
        slots: u32,
        kept: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Arc<Self> {
        Arc::new(Self { region: region.clone(), interface, rings, slots, owned: false, _kept: kept })
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = RingView> + '_ {
        self.rings.iter().map(|&r| RingView::new(&self.region, r, self.slots))
    }

    /// Number of the first ring; the others follow.
    pub(crate) fn first_ring(&self) -> u32 {
        self.rings.first().copied().unwrap_or_default()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let mut bufs: Vec<_> = self
            .views()
            .flat_map(|v| (0..v.num()).map(move |i| Slot { len: 0, ..v.slot(i) }).collect::<Vec<_>>())
            .filter(|s| s.valid(self.region.shared().layout.bufs, u32::MAX))
            .map(|s| s.buf)
            .collect();
        bufs.sort_unstable();
        bufs.dedup();
        let mut alloc = self.region.alloc();
        bufs.into_iter().for_each(|b| alloc.give_buf(b));
        alloc.give_port(self.interface, &self.rings);
    }
}
