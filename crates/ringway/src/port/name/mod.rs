//! Port names: `subsystem:name` and what follows.

pub(crate) mod around;
pub(crate) mod dpdk;
mod memif;
mod memif_options;
mod options;
pub(crate) mod parse;
mod port_name;
mod print;
#[cfg(test)]
mod tests;

pub(crate) use memif::memif;
pub use memif_options::{MemifOptions, MemifRole};
pub use options::{Direction, FaultOptions, TapOptions, TraceOptions};
pub(crate) use parse::{Text, bad, file_instead, no_host_rings};
pub use port_name::{NicRings, PcapMode, PipeEnd, PortName};
