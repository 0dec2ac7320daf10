//! Addresses of a flow's connections.

use std::net::{IpAddr, Ipv4Addr};

use crate::code::{End, MAX_CONNECTIONS};

/// Addresses of connections, by slot and end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses(pub(super) [[IpAddr; 2]; MAX_CONNECTIONS]);

impl Default for Addresses {
    fn default() -> Self {
        Self([[IpAddr::V4(Ipv4Addr::UNSPECIFIED); 2]; MAX_CONNECTIONS])
    }
}

impl Addresses {
    pub(super) fn of(&self, slot: u8, end: End) -> IpAddr {
        self.0[usize::from(slot) % MAX_CONNECTIONS][end as usize]
    }
}
