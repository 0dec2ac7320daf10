//! Port names: `subsystem:name` and what follows.

pub(crate) mod around;
mod name;
mod options;
pub(crate) mod parse;
mod print;
mod switch;
#[cfg(test)]
mod tests;

pub use name::{NicRings, PcapMode, PipeEnd, PortName};
pub use options::{Direction, FaultOptions, TapOptions, TraceOptions};
pub(crate) use parse::{Text, bad, file_instead, no_host_rings};
pub(crate) use switch::{is_port, is_switch};
