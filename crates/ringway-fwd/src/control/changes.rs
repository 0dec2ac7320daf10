//! Changes of the state, as far as the data plane has to follow them.

use std::net::IpAddr;

use ringway_fib::{Prefix4, Prefix6};

use super::event::Net;

/// `RT_TABLE_DEFAULT`, `RT_TABLE_MAIN`, `RT_TABLE_LOCAL`.
pub const DEFAULT: u32 = 253;
/// See [`DEFAULT`].
pub const MAIN: u32 = 254;
/// See [`DEFAULT`].
pub const LOCAL: u32 = 255;

/// What may have to be brought to the data plane.
#[derive(Debug, Default)]
pub struct Changes {
    pub(super) v4: Vec<Prefix4>,
    pub(super) v6: Vec<Prefix6>,
    /// The prefixes of `v6` that are in table local, which hide longer prefixes of table main.
    pub(super) local6: Vec<Prefix6>,
    pub(super) neighbours: Vec<(IpAddr, u32)>,
    /// Links, objects, dead hops: what next hops are made of.
    pub(super) hops: bool,
    /// Any route may be affected.
    pub(super) all: bool,
}

impl Changes {
    /// Everything: for a data plane that begins later than the state.
    pub fn everything() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        let Self { v4, v6, local6: _, neighbours, hops, all } = self;
        v4.is_empty() && v6.is_empty() && neighbours.is_empty() && !hops && !all
    }

    pub(super) fn route(&mut self, table: u32, net: Net) {
        match (table, net) {
            (MAIN | LOCAL, Net::V4(prefix)) => self.v4.push(prefix),
            (MAIN, Net::V6(prefix)) => self.v6.push(prefix),
            (LOCAL, Net::V6(prefix)) => {
                self.v6.push(prefix);
                self.local6.push(prefix);
            }
            _ => {}
        }
    }
}
