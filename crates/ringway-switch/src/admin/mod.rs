//! Switches and their ports, made, changed and listed by root.
//!
//! | module | what it has |
//! | --- | --- |
//! | `switch`, `spec`, `maps` | a switch, how it is made, and its maps |
//! | `module`, `custom`, `code` | what decides where frames go: as named, as a file, as programs |
//! | `load` | programs, loaded with their constants and maps |
//! | `port`, `access` | ports: listed and removed, and who may open one |
//! | `make_port`, `parts` | ports made, and what they consist of |
//! | `record` | what the maps say of a port |
//! | `passing` | switches that go away with their last port |
//! | `tidy` | ports without users, and what killed processes left |
//! | `conf`, `vlan` | what root asks of a port beyond forwarding |
//! | `removal` | ports that go away, with their counts kept |
//! | `reissue` | ports given to other users |
//! | `reload`, `attach_point` | programs of a running switch, replaced |
//! | `fdb`, `stats` | what programs learned and counted |
//! | `stages` | what the stages of a burst cost, while somebody watches |
//! | `trial` | whether this kernel takes the programs |

pub(super) mod access;
pub(super) mod attach_point;
pub(super) mod code;
pub(super) mod conf;
pub(super) mod custom;
pub(super) mod fdb;
pub(super) mod load;
mod make_port;
pub(super) mod maps;
pub(super) mod module;
pub(super) mod parts;
mod passing;
pub(super) mod port;
mod record;
mod reissue;
mod reload;
mod removal;
pub(super) mod spec;
mod stages;
pub(super) mod stats;
pub(super) mod switch;
mod tidy;
pub mod trial;
pub(super) mod vlan;
