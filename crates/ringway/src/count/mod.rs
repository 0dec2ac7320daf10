//! Which ports are open on this machine: one small file per port with its counters, for `ringway stats`.
//!
//! The owner holds a lock on its file for as long as it lives, so a file without a lock belongs to nobody:
//! the next open or listing removes it. Where no directory can be written, or others may write in it,
//! counters live in private memory and the port is just not listed.

mod entry;
mod files;
mod listed;
mod reason;
mod registration;
mod run_directory;
mod stats;
#[cfg(test)]
mod tests;

#[cfg(fuzzing)]
pub(crate) use entry::HEADER;
pub(crate) use entry::KernelCounters;
#[cfg(fuzzing)]
pub(crate) use listed::parse;
pub(crate) use listed::{KernelHalf, Reader, freed_by, listed};
pub use listed::{OpenInterface, OpenPort, OpenRing};
pub use reason::DropReason;
pub(crate) use registration::Registration;
pub(crate) use run_directory::make_directory;
pub use run_directory::{check_run_directory, run_directory};
pub(crate) use stats::{BLOCK, Field, RingStats};
pub use stats::{Counters, PortCounters};
