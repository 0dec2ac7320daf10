//! Packet generation and checking as in `pkt-gen`, without I/O.

pub mod range;
