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

mod access;
mod conf;
mod fdb;
mod find;
mod folder;
mod gone;
mod handle;
#[cfg(test)]
mod header_tests;
pub(crate) mod layout;
mod load;
#[cfg(test)]
mod model;
mod module;
mod name;
mod nic;
pub(crate) mod objects;
mod parts;
pub(crate) mod pins;
mod place;
mod port;
mod reload;
mod renew;
mod secrets;
mod spec;
mod stats;
#[cfg(test)]
mod tests;
pub(crate) mod trial;
mod trust;
mod view;
mod vlan;

pub use access::PortAccess;
pub use conf::{Mirror, PortConf, StormLimits};
pub use fdb::FdbEntry;
pub(crate) use find::{find, read_shape};
pub use folder::{Folder, FolderLock};
pub use handle::{Switch, switches};
pub use module::Module;
pub use name::{check_name, check_router_name};
pub use nic::{NicOptions, NicPath};
pub use pins::{check_root, check_visible, clear, is_router, root, routers, set_root};
pub use port::SwitchPort;
pub(crate) use port::take;
pub(crate) use secrets::Ticket;
pub use spec::SwitchSpec;
pub use stats::{SwitchPortStats, SwitchSum, SwitchTotals};
pub(crate) use view::{Look, View, add_port_counters, gone as port_gone};
pub use vlan::{VlanMode, VlanSet};
