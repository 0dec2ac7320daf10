//! How a device is set up.

use ringway_wire::MacAddr;

use super::backend::Backend;

/// Most ports of a device.
pub const MOST_PORTS: usize = 8;

/// Most filters of a device.
pub const MOST_FILTERS: u32 = 1000;

/// Most routes behind a port.
pub const MOST_ROUTES: u32 = 1 << 20;

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
    /// More routes of routers; `None` for the networks of the tester alone.
    pub behind: Option<Behind>,
}

/// Routes to 10.0.0.0/8 through port 1, by a neighbour that a router never has to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Routes that share the network evenly, 1 to [`MOST_ROUTES`]: the next power of two counts.
    pub routes: u32,
    /// Link address of the neighbour.
    pub mac: MacAddr,
}

impl Behind {
    /// Bits of each prefix.
    #[must_use]
    pub fn prefix_len(&self) -> u32 {
        8 + self.routes.clamp(1, MOST_ROUTES).next_power_of_two().trailing_zeros()
    }
}

impl Default for DutSpec {
    /// Two ports on `ebpf:`, packets of 1500 bytes, IPv4, no filters.
    fn default() -> Self {
        Self { ports: 2, backend: Backend::Ebpf, ipv6: false, mtu: 1500, filters: 0, cpu: None, behind: None }
    }
}
