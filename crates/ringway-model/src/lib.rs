#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod flame;
pub mod group;
mod kallsyms;
pub mod profile;
pub mod programs;
pub mod sample;
pub mod symbol;
pub mod table;
#[cfg(test)]
mod testing;
pub mod time;

pub use ringway_sys::{Error, ErrorKind, Result};
