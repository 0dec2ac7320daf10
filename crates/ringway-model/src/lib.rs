#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod fit;
pub mod model;
pub mod paper;
pub mod sample;
pub mod time;

pub use ringway_sys::{Error, ErrorKind, Result};
