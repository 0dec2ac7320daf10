//! What the rings of a `dpdk:` port share.

use super::losses::Losses;
use crate::nic::LOOK_NS;
use crate::sys::promiscuous::Promiscuous;
use crate::sys::time;

/// What the rings of a port share.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) mtu: u32,
    pub(super) losses: Losses,
    /// Keeps the interface behind the device promiscuous.
    pub(super) _promiscuous: Option<Promiscuous>,
}

impl Core {
    /// Whether it is time to ask the device again.
    #[inline]
    pub(super) fn is_time(&self, asked_ns: &mut u64) -> bool {
        let now = time::coarse_ns();
        if now.saturating_sub(*asked_ns) < LOOK_NS {
            return false;
        }
        *asked_ns = now;
        true
    }
}
