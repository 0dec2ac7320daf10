//! Forwarding: what decides where a packet goes. Packets, keys and times come in as arguments; nothing here does packet I/O.
//!
//! | module | holds |
//! | --- | --- |
//! | [`fib`] | longest-prefix match for IPv4 and IPv6 |
#![deny(unsafe_code)]

pub mod fib;
