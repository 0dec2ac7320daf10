//! The words in shared memory that a program and the other side of its rings both know: netmap's layout, slots, cursors, and how a side
//! publishes and wakes.

pub(crate) mod cursor;
pub(crate) mod handshake;
pub mod layout;
pub(crate) mod slot;
