//! TCP, UDP, ICMP, ARP and NDP of emulated hosts. Segments and times come in as arguments.

mod acks;
pub(crate) mod arrival;
pub(crate) mod conn;
pub(crate) mod input;
pub(crate) mod net;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod plain;
pub(crate) mod queue;
pub(crate) mod reassembly;
pub(crate) mod segment;
pub(crate) mod seq;
mod settings;
pub(crate) mod stray;
#[cfg(test)]
mod tests;
pub(crate) mod timer;

pub use settings::Settings;
