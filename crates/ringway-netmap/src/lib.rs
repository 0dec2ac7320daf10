#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod bind;
mod body;
mod bound;
mod descriptor;
mod failure;
mod ledger;
pub mod legacy;
mod local;
pub mod memory;
mod name;
pub mod numbers;
pub mod options;
mod own_memory;
mod passing;
mod plan;
mod region;
pub mod request;
mod serve;
mod served;
mod shared;
mod space;
mod sweep;
mod sync;
#[cfg(test)]
mod tests;
mod vale;

pub use descriptor::{Descriptor, Sleep};
