#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod cursor;
pub mod handshake;
pub mod layout;
mod place;
mod slot;
mod spec;

pub use layout::FIRST_BUF;
pub use place::Place;
pub use slot::Slot;
pub use spec::{CTL_SIZE, Layout, RegionSpec};
