//! Trials through modelled devices.

use ringway::{Error, ErrorKind, Result};

use super::{DeviceSpec, lane};
use crate::rfc2544::session::Rig;
use crate::trial::loops::{VirtualClock, Watch, lock_step};
use crate::trial::result::{Order, Trial};

/// A modelled device between two virtual ports, anew for each trial: pauses are over at once, and results depend on nothing but
/// the order.
#[derive(Clone, Debug)]
pub struct VirtualRig {
    device: DeviceSpec,
    bits: Option<u64>,
    bidirectional: bool,
}

impl VirtualRig {
    /// Ports of `bits` per second on both sides of `device`; each direction has its own half of it.
    #[must_use]
    pub fn new(device: DeviceSpec, bits: Option<u64>, bidirectional: bool) -> Self {
        Self { device, bits, bidirectional }
    }
}

impl Rig for VirtualRig {
    fn run(&mut self, order: &Order, watch: &mut Watch<'_>) -> Result<Trial> {
        if !order.variant.marks(&order.schedule()).is_empty() {
            let what = format!("{}: a modelled device looks at no frame", order.variant);
            return Err(
                Error::new(ErrorKind::Unsupported, self.device.to_string(), what).cure("measure over ports")
            );
        }
        let streams = if self.bidirectional { 2 } else { 1 };
        let mut lanes: Vec<_> =
            (0..streams).map(|stream| lane(self.device.build(self.bits), &order.mix, stream)).collect();
        lock_step(&mut lanes, order, &VirtualClock::default(), watch)
    }

    fn pause(&mut self, _ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        go_on()
    }
}
