#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod fit;
pub mod model;
pub mod paper;
