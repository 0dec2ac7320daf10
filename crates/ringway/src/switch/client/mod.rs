//! What a process needs to open a port of a switch: where the port is, the right to use it, and a look at its state.

mod claim;
mod find;
mod view;

pub(crate) use claim::claim;
pub(crate) use find::{find, read_shape};
pub(super) use view::LOOK_PROGRAM;
pub(crate) use view::{Look, View, add_port_counters, gone as port_gone};
