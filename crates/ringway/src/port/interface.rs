//! Interfaces as names of ports name them.

use super::name::{NicRings, file_instead};
use crate::error::{ErrorKind, Result};
use crate::nic;
use crate::sys::net::Interface;

/// The interface called `ifname`, for the port `name`, and its index.
pub(crate) fn find_interface(name: &str, ifname: &str) -> Result<(u32, Interface)> {
    nic::find(name, ifname).map_err(|e| match file_instead(ifname) {
        Some(cure) if e.kind() == ErrorKind::NotFound => e.cure(cure),
        _ => e,
    })
}

/// Refuses a queue that the interface does not have.
pub(crate) fn check_rings(name: &str, ifname: &str, rings: NicRings, queues: u32) -> Result<()> {
    match rings {
        NicRings::Queue(queue) => nic::check_queue(name, ifname, queue, queues),
        _ => Ok(()),
    }
}
