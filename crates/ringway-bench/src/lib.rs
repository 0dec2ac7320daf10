//! Ringway beside its peers: benchmarks and the demonstration.
//!
//! | module | holds |
//! | --- | --- |
//! | [`peers`] | the programs that Ringway is measured against |
//! | [`demo`] | the demonstration: real traffic through Ringway and others |
//! | [`suite`] | benchmarks: alternating runs, statistics, results |
#![deny(unsafe_code)]

pub mod demo;
pub mod peers;
pub mod suite;
