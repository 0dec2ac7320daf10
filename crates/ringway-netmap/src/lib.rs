#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod descriptor;
mod descriptors;
mod epolls;
mod hooks;
mod inside;
pub mod internal;
pub mod legacy;
pub mod memory;
pub mod numbers;
pub mod options;
mod process;
pub mod request;
mod sys;
#[cfg(test)]
mod tests;
