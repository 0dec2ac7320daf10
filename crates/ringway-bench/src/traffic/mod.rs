//! Packet generation and checking as in `pkt-gen`, without I/O.

mod bytes;
pub mod check;
pub mod pace;
pub mod range;
pub mod reflect;
pub mod tag;
pub mod template;
