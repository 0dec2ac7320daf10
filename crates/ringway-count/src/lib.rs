#![doc = include_str!("../README.md")]
//!
//! | file | what |
//! | --- | --- |
//! | `reason` | why frames are lost |
//! | `stats` | counters of a ring, and where they lie |
//! | `entry`, `files` | the file of a port: what it says, made and removed |
//! | `registration` | a port's own file |
//! | `listed` | the files of all ports, read |
//! | `stages` | what the stages of a loop cost, counted while somebody watches |
//! | `run_directory` | where the files are |
#![deny(unsafe_code)]

mod entry;
mod files;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod listed;
mod reason;
mod registration;
mod run_directory;
mod stages;
mod stats;
#[cfg(test)]
mod tests;

pub use entry::KernelCounters;
pub use listed::{KernelHalf, OpenInterface, OpenPort, OpenRing, Reader, freed_by, listed};
pub use reason::DropReason;
pub use registration::Registration;
pub use run_directory::{check_run_directory, make_directory, run_directory};
pub use stages::{
    Borders, MAX_STAGES, Meter, MeteredLoop, StageCounts, TIMED_ONE_IN, Timed, Unwatched, metered_loops,
};
pub use stats::{BLOCK, Counters, Field, PortCounters, RingStats};
