//! Measurements over Ringway ports: testers of devices, benchmarks, the demonstration.
//!
//! | module | holds |
//! | --- | --- |
//! | [`peers`] | the programs that Ringway is measured against |
//! | [`dut`] | devices under test, set up by name in namespaces |
//! | [`demo`] | the demonstration: real traffic through Ringway and others |
//! | [`rfc2544`] | trials, searches and tests of RFC 2544, in real and in virtual time |
//! | [`rfc2889`] | the same for switches with several ports |
//! | [`suite`] | benchmarks: alternating runs, statistics, results |
#![deny(unsafe_code)]

pub mod demo;
pub mod dut;
mod own;
mod page;
pub mod peers;
pub mod rfc2544;
pub mod rfc2889;
pub mod suite;
