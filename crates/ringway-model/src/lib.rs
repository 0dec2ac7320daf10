#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod fit;
pub mod flame;
pub mod group;
mod kallsyms;
pub mod model;
pub mod paper;
pub mod predict;
pub mod profile;
pub mod programs;
pub mod rig;
pub mod sample;
pub mod sweep;
pub mod symbol;
pub mod table;
#[cfg(test)]
mod testing;
pub mod time;
pub mod vantage;

pub use ringway_sys::{Error, ErrorKind, Result};
