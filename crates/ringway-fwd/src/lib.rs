//! Forwarding: what decides where a packet goes. Packets, keys and times come in as arguments; nothing here does
//! packet I/O.
//!
//! | module | holds |
//! | --- | --- |
//! | [`control`] | the kernel's routes, neighbours and links by netlink, made into next hops and routes for a fast path |
//! | [`router`] | what becomes of a packet: the forwarding engine |
#![deny(unsafe_code)]

pub mod control;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
pub mod router;
