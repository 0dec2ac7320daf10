//! Switches: VALE, forwarding in the context of the sender, with no daemon.
//!
//! A switch is a directory of pinned eBPF objects. Each port has a region and a state that only programs write. The sender's sync runs
//! the program of the switch, which serves all ports. Creating switches and ports needs privilege; using a port needs access to
//! its files only. Ports are opened as others are: [`Port::open("vale0:p1")`](crate::Port::open).
//!
//! By default a switch is a learning bridge: the source of each frame is noted with its port, frames to a known address go there, others to all
//! ports but the sender's. [`SwitchSpec`] tells ageing and bounds, and names another [`Module`] to decide.
//!
//! [`PortConf`] tells a port its VLANs, isolation, storm limits and mirror. Ports that are told nothing are one network.
//!
//! Ports made with [`Switch::add_port`] stay until they are deleted. A port that [`Port::open`](crate::Port::open) made because
//! there was none of that name is *ephemeral*: it goes away with its last user. When that user was killed, whoever next lists
//! or changes the switch with the right to do so removes it; until then it is a port that nobody reads.

mod admin;
mod client;
#[cfg(test)]
mod header_tests;
pub(crate) mod layout;
#[cfg(test)]
mod model;
mod nic;
pub(crate) mod objects;
pub(crate) mod pins;
mod secrets;
mod shape;
#[cfg(test)]
mod tests;

pub use admin::access::PortAccess;
pub use admin::conf::{Mirror, PortConf, StormLimits};
pub use admin::fdb::FdbEntry;
pub use admin::module::Module;
pub use admin::port::SwitchPort;
pub use admin::spec::SwitchSpec;
pub use admin::stats::{SwitchPortStats, SwitchSum, SwitchTotals};
pub use admin::switch::{Switch, switches};
pub(crate) use admin::trial;
pub use admin::vlan::{VlanMode, VlanSet};
pub(crate) use client::{Look, View, add_port_counters, claim, find, port_gone, read_shape};
pub use nic::{NicOptions, NicPath};
pub(crate) use secrets::Ticket;
pub(crate) use shape::Shape;
