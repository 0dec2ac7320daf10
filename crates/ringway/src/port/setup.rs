//! What every backend needs first: a place in a region and counters.

use std::sync::Arc;

use super::made::{Control, Made};
use super::name::PortName;
use super::options::OpenOptions;
use crate::count::{Registration, RingStats};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Region;
use crate::ring::{Lease, PortShape, RingParts, RingView, RxRing, RxSync, TxRing, TxSync};

/// Slots of a ring when the user names no number.
pub(crate) const SLOTS: u32 = 1024;

/// Bytes of a buffer.
pub(crate) const BUF_SIZE: u32 = 2048;

/// A pair of rings, with as many slots as the caller wants.
pub(crate) fn one_pair(options: &OpenOptions) -> PortShape {
    PortShape { tx_rings: 1, rx_rings: 1, slots: options.slots.unwrap_or(SLOTS), host: false }
}

/// A place in a region and counters.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) shape: PortShape,
    pub(crate) region: Region,
    pub(crate) lease: Arc<Lease>,
    pub(crate) registration: Arc<Registration>,
}

impl Setup {
    /// In the region given, or in one of its own with buffers of `buf_size` bytes.
    pub(crate) fn new(
        name: &PortName,
        options: &OpenOptions,
        shape: PortShape,
        buf_size: u32,
    ) -> Result<Self> {
        let region = match &options.region {
            Some(r) => r.clone(),
            None => {
                let mut spec = shape.region(buf_size);
                spec.buffers += options.extra_bufs;
                Region::memfd(&spec)?
            }
        };
        Self::within(name, region, shape)
    }

    pub(crate) fn within(name: &PortName, region: Region, shape: PortShape) -> Result<Self> {
        let name = name.to_string();
        if !(2..=region.shared().layout.slots).contains(&shape.slots) {
            let max = region.shared().layout.slots;
            return Err(Error::new(ErrorKind::Invalid, name, format!("{} slots a ring", shape.slots))
                .cure(format!("a ring of this region has 2 to {max} slots")));
        }
        let lease = Lease::take(&region, &name, &shape)?;
        let registration = Registration::new(&name, shape.tx_rings, shape.rx_rings)?;
        Ok(Self { name, shape, region, lease, registration })
    }

    /// The views of the tx rings, then of the rx rings.
    pub(crate) fn views(&self) -> (Vec<RingView>, Vec<RingView>) {
        let mut tx: Vec<_> = self.lease.views().collect();
        let rx = tx.split_off(self.shape.tx_rings as usize);
        (tx, rx)
    }

    /// A fresh tx ring: all slots but one belong to the program.
    pub(crate) fn tx_ring(&self, view: RingView, ring: u32, backend: Box<dyn TxSync>) -> TxRing {
        let tail = view.num() - 1;
        TxRing::new(self.parts(view, 0, tail, self.registration.tx(ring)), backend)
    }

    /// A fresh rx ring: empty.
    pub(crate) fn rx_ring(&self, view: RingView, ring: u32, backend: Box<dyn RxSync>) -> RxRing {
        RxRing::new(self.parts(view, 0, 0, self.registration.rx(ring)), backend)
    }

    fn parts(&self, view: RingView, first: u32, tail: u32, stats: RingStats) -> RingParts {
        RingParts { view, first, tail, stats, lease: self.lease.clone() }
    }

    /// The port, of which only the control part is missing.
    pub(crate) fn finish(
        &self,
        rx: Vec<RxRing>,
        tx: Vec<TxRing>,
        max_frame: u32,
        control: impl Control + 'static,
    ) -> Made {
        Made {
            name: self.name.clone(),
            region: self.region.clone(),
            shape: self.shape,
            rx,
            tx,
            registration: self.registration.clone(),
            control: Arc::new(control),
            max_frame,
            share: None,
        }
    }
}
