#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod legacy;
pub mod memory;
pub mod numbers;
pub mod options;
pub mod request;
#[cfg(test)]
mod tests;
