//! Traffic generation and measurement over Ringway ports.
//!
//! | module | holds |
//! | --- | --- |
//! | [`traffic`] | generator and checker, without I/O |
//! | [`peers`] | the programs that Ringway is measured against |
//! | [`lab`] | namespaces and links to measure in |
//! | [`suite`] | benchmarks: alternating runs, statistics, results |
#![deny(unsafe_code)]

pub mod lab;
pub mod peers;
pub mod suite;
pub mod traffic;
