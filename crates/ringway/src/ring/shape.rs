//! How many rings and slots a port has.

use crate::abi::layout;
use crate::memory::RegionSpec;

/// Rings and slots of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortShape {
    /// Number of tx rings.
    pub tx_rings: u32,
    /// Number of rx rings.
    pub rx_rings: u32,
    /// Slots of each ring.
    pub slots: u32,
    /// Whether these are host rings.
    pub host: bool,
}

impl PortShape {
    /// The region that holds just this port.
    pub(crate) fn region(&self, buf_size: u32) -> RegionSpec {
        let rings = self.tx_rings + self.rx_rings;
        let buffers = layout::FIRST_BUF + (rings * self.slots).max(1);
        RegionSpec { interfaces: 1, rings, slots: self.slots, buffers, buf_size }
    }
}
