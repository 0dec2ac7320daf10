//! The ports that are open on this machine, with what their kernel halves count.

use crate::backend::ebpf::{add_map_counters, add_taken_counters};
use crate::count::{KernelCounters, OpenPort, Reader, listed};
use crate::switch::add_port_counters;

const READERS: &[Reader] = &[
    (KernelCounters::Interface, add_map_counters),
    (KernelCounters::InterfaceTaken, add_taken_counters),
    (KernelCounters::SwitchPort, add_port_counters),
];

/// The ports that are open on this machine, as far as the caller may see them.
///
/// ```
/// let port = ringway::Port::open("null:")?;
/// let listed = ringway::open_ports();
/// # if std::fs::metadata("/run/ringway/ports").is_ok_and(|m| !m.permissions().readonly()) {
/// assert!(listed.iter().any(|p| p.name == "null:" && p.pid == std::process::id()));
/// # }
/// # Ok::<(), ringway::Error>(())
/// ```
#[must_use]
pub fn open_ports() -> Vec<OpenPort> {
    listed(READERS)
}
