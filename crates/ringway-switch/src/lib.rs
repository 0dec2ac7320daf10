#![doc = include_str!("../README.md")]
//!
//! | module | what it has |
//! | --- | --- |
//! | `layout`, `shape`, `pins` | where things lie in maps, in regions and among the pinned objects |
//! | `objects`, `secrets` | maps and programs, made and opened; random numbers |
//! | `client` | opening a port |
//! | `admin` | switches and ports, made, changed and listed |
//! | `nic` | interfaces as ports |
#![deny(unsafe_code)]

mod admin;
mod client;
pub mod layout;
#[cfg(test)]
mod model;
mod nic;
pub mod objects;
pub mod pins;
mod secrets;
mod shape;
#[cfg(test)]
mod test_client;

pub use admin::access::PortAccess;
pub use admin::conf::{Mirror, PortConf, StormLimits};
pub use admin::fdb::FdbEntry;
pub use admin::module::Module;
pub use admin::port::SwitchPort;
pub use admin::spec::SwitchSpec;
pub use admin::stats::{SwitchPortStats, SwitchSum, SwitchTotals};
pub use admin::switch::{Switch, switches};
pub use admin::trial;
pub use admin::vlan::{VlanMode, VlanSet};
pub use client::{Look, View, claim, find, port_gone, read_shape};
#[doc(hidden)]
pub use nic::NicCut;
pub use nic::{NicOptions, NicPath};
pub use secrets::Ticket;
pub use shape::Shape;
