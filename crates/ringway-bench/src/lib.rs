//! Traffic generation and measurement over Ringway ports.
//!
//! | module | holds |
//! | --- | --- |
//! | [`traffic`] | frames, schedules, checks and reports, without I/O |
//! | [`engine`] | the loops that put them on rings: sender, receiver, ping, pong, bridge |
//! | [`affinity`] | one thread, one CPU |
//! | [`peers`] | the programs that Ringway is measured against |
//! | [`lab`] | namespaces and links to measure in |
//! | [`dut`] | devices under test, set up by name in namespaces |
//! | [`demo`] | the demonstration: real traffic through Ringway and others |
//! | [`rfc2544`] | trials, searches and tests of RFC 2544, in real and in virtual time |
//! | [`rfc2889`] | the same for switches with several ports |
//! | [`suite`] | benchmarks: alternating runs, statistics, results |
#![deny(unsafe_code)]

pub mod affinity;
pub mod demo;
pub mod dut;
pub mod engine;
pub mod lab;
mod own;
mod page;
pub mod peers;
pub mod rfc2544;
pub mod rfc2889;
pub mod suite;
pub mod traffic;
