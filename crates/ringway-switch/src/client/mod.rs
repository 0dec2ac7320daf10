//! What a process needs to open a port of a switch: where the port is, the right to use it, and a look at its state.

mod claim;
mod find;
mod view;

pub use claim::claim;
pub use find::{find, read_shape};
pub(super) use view::LOOK_PROGRAM;
pub use view::{Look, View, gone as port_gone};
