//! How a device is set up.

use super::backend::Backend;

/// Most ports of a device.
pub const MOST_PORTS: usize = 8;

/// Most filters of a device.
pub const MOST_FILTERS: u32 = 1000;

/// How a device is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DutSpec {
    /// Ports: 2 to [`MOST_PORTS`] of bridges and switches, 2 of all others.
    pub ports: usize,
    /// How the tester attaches to its ends of the links.
    pub backend: Backend,
    /// Routers forward IPv6 too, and filters look at IPv6.
    pub ipv6: bool,
    /// Longest packet that the links carry, bytes without Ethernet header.
    pub mtu: u32,
    /// Packet filters that each frame has to pass, of which the last matches (RFC 2544, 11.4): 0 to [`MOST_FILTERS`].
    pub filters: u32,
    /// CPU of devices that are processes; `None` for the last one.
    pub cpu: Option<usize>,
}

impl Default for DutSpec {
    /// Two ports on `ebpf:`, packets of 1500 bytes, IPv4, no filters.
    fn default() -> Self {
        Self { ports: 2, backend: Backend::Ebpf, ipv6: false, mtu: 1500, filters: 0, cpu: None }
    }
}
