//! Testers of network devices: the benchmarks of RFC 2544, and of RFC 2889 for switches with several ports.
//!
//! | module | holds |
//! | --- | --- |
//! | [`trial`] | what both share: rates, schedules, frames, the books of a trial, its loops, searches |
//! | [`ports`] | trials over the rings of ports: frames as bytes, neighbours, the clock |
//! | [`bed`], [`device`] | what trials run on: two ports, modelled devices |
//! | [`benchmark`] | what the benchmarks of both RFCs have alike: settings, reports |
//! | [`rfc2544`] | sessions and tests of RFC 2544, over ports or through modelled devices |
//! | [`rfc2889`] | sessions and tests of RFC 2889, over ports or through a modelled switch |
//! | [`report`] | pages and charts |
//! | [`dut`] | devices under test, set up by name in namespaces |
//! | [`temporary`] | switches and routers of Ringway for one measurement |
#![deny(unsafe_code)]

pub mod bed;
pub mod benchmark;
pub mod device;
pub mod dut;
mod fault;
pub mod ports;
pub mod report;
pub mod rfc2544;
pub mod rfc2889;
pub mod temporary;
pub mod trial;

pub use fault::Fault;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
