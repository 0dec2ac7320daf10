#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod bind;
mod body;
mod bound;
pub mod descriptor;
mod descriptors;
mod epolls;
mod failure;
mod forks;
mod hooks;
mod inside;
pub mod internal;
mod ledger;
pub mod legacy;
mod local;
pub mod memory;
mod name;
pub mod numbers;
pub mod options;
mod passing;
mod plan;
mod process;
mod region;
pub mod request;
mod ring_words;
mod serve;
mod served;
mod shared;
mod space;
mod sweep;
mod sync;
mod sys;
mod tally;
#[cfg(test)]
mod tests;
mod vale;
