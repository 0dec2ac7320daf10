//! How to make a router.

use ringway_fwd::control;

use super::obstacles::Bypass;
use crate::kernel::{Path, Rpf};

/// How to make a router, or to go on with one.
#[derive(Debug, Clone)]
pub struct Options {
    /// Interfaces to be members; none: all Ethernet interfaces that are up, forward, and are no ports of others.
    pub nics: Vec<String>,
    /// Reverse path filter of IPv6, for which the kernel has no setting.
    pub rpf6: Rpf,
    /// How to follow.
    pub follow: control::Options,
    /// Obstacles that may be there though the fast path goes around them.
    pub bypass: Vec<Bypass>,
    /// How interfaces become members; `None`: software interfaces and interfaces without native XDP by traffic control, others by XDP.
    pub path: Option<Path>,
}

impl Default for Options {
    /// All interfaces, no filter of IPv6, no obstacle to go around.
    fn default() -> Self {
        let follow = control::Options::default();
        Self { nics: Vec::new(), rpf6: Rpf::Off, follow, bypass: Vec::new(), path: None }
    }
}
