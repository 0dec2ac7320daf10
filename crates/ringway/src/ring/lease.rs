//! A port's place in a region.

use std::sync::Arc;

use super::shape::PortShape;
use super::view::RingView;
use crate::abi::Slot;
use crate::abi::layout::{self, interface as at};
use crate::error::Result;
use crate::memory::Region;

/// A port's place in a region: interface descriptor, rings and their buffers. Given back when the last ring of
/// the port is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    region: Region,
    interface: u32,
    rings: Vec<u32>,
    slots: u32,
    owned: bool,
}

impl Lease {
    /// Takes a place and lays the rings out: tx rings first, each slot with a buffer of its own.
    pub(crate) fn take(region: &Region, name: &str, shape: &PortShape) -> Result<Arc<Self>> {
        let count = shape.tx_rings + shape.rx_rings;
        let mut alloc = region.alloc();
        let (interface, rings) = alloc.take_port(count, count * shape.slots)?;
        let lease = Self { region: region.clone(), interface, rings, slots: shape.slots, owned: true };
        for (k, view) in lease.views().enumerate() {
            for i in 0..shape.slots {
                let buf = alloc.take_buf().unwrap_or_default();
                view.set_slot(i, Slot { buf, len: 0, flags: 0 });
            }
            let (k, tx) = (k as u32, shape.tx_rings);
            view.init(if k < tx { k } else { k - tx } as u16, k >= tx);
        }
        drop(alloc);
        lease.describe(name, shape);
        Ok(Arc::new(lease))
    }

    /// The place of a port that another process laid out.
    pub(crate) fn of(region: &Region, interface: u32, rings: Vec<u32>, slots: u32) -> Arc<Self> {
        Arc::new(Self { region: region.clone(), interface, rings, slots, owned: false })
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = RingView> + '_ {
        self.rings.iter().map(|&r| RingView::new(&self.region, r, self.slots))
    }

    /// Number of the first ring; the others follow.
    pub(crate) fn first_ring(&self) -> u32 {
        self.rings.first().copied().unwrap_or_default()
    }

    fn describe(&self, name: &str, shape: &PortShape) {
        let s = self.region.shared();
        let base = s.layout.interface(self.interface);
        let mut text = [0u8; 16];
        for (t, b) in text[..15].iter_mut().zip(name.bytes()) {
            *t = b;
        }
        s.mem.write(base + at::NAME, &text);
        let (tx, rx) = (shape.tx_rings, shape.rx_rings);
        let (nic, host) = if shape.host { ((0, 0), (tx, rx)) } else { ((tx, rx), (0, 0)) };
        let words = [
            (at::VERSION, layout::ABI_VERSION),
            (at::FLAGS, 1),
            (at::TX_RINGS, nic.0),
            (at::RX_RINGS, nic.1),
            (at::BUFS_HEAD, 0),
            (at::HOST_TX_RINGS, host.0),
            (at::HOST_RX_RINGS, host.1),
        ];
        for (ofs, v) in words {
            s.mem.write(base + ofs, &v.to_ne_bytes());
        }
        for (k, &r) in self.rings.iter().enumerate() {
            let ofs = s.layout.ring(r) as i64 - base as i64;
            s.mem.write(base + at::RING_OFS + 8 * k, &ofs.to_ne_bytes());
        }
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
