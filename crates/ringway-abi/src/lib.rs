#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod cursor;
pub mod handshake;
pub mod layout;
mod slot;
mod spec;

pub use slot::Slot;
pub use spec::{CTL_SIZE, Layout, RegionSpec};
