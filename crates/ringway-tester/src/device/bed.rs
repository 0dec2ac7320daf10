//! Trials through modelled devices.

use ringway::{Error, ErrorKind, Result};

use super::{DeviceSpec, direction};
use crate::trial::bed::TestBed;
use crate::trial::loops::{VirtualClock, Watch, lock_step};
use crate::trial::result::TrialResult;
use crate::trial::spec::TrialSpec;

/// A modelled device between two virtual ports, a new one for each trial: pauses are over at once, and
/// results depend on nothing but the spec.
#[derive(Clone, Debug)]
pub struct VirtualTestBed {
    device: DeviceSpec,
    bits: Option<u64>,
    bidirectional: bool,
}

impl VirtualTestBed {
    /// Ports of `bits` per second on both sides of `device`; each direction has its own half of it.
    #[must_use]
    pub fn new(device: DeviceSpec, bits: Option<u64>, bidirectional: bool) -> Self {
        Self { device, bits, bidirectional }
    }
}

impl TestBed for VirtualTestBed {
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult> {
        if !order.variant.marks(&order.schedule()).is_empty() {
            let what = format!("{}: a modelled device looks at no frame", order.variant);
            return Err(
                Error::new(ErrorKind::Unsupported, self.device.to_string(), what).cure("measure over ports")
            );
        }
        let streams = if self.bidirectional { 2 } else { 1 };
        let mut directions: Vec<_> =
            (0..streams).map(|stream| direction(self.device.build(self.bits), &order.mix, stream)).collect();
        lock_step(&mut directions, order, &VirtualClock::default(), watch)
    }

    fn pause(&mut self, _ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool {
        go_on()
    }
}
