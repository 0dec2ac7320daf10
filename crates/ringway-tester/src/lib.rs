//! Trials of network devices: frames of known times and numbers go through a device, and the tester counts which come back, and when.
//!
//! | module | holds |
//! | --- | --- |
//! | [`trial`] | rates, schedules, frames, the books of a trial, its loops, searches |
//! | [`ports`] | trials over the rings of ports: frames as bytes, neighbours, the clock |
//! | [`bed`], [`device`] | what trials run on: two ports, modelled devices |
//! | [`report`] | pages and charts |
//! | [`dut`] | devices under test, set up by name in namespaces |
//! | [`temporary`] | switches and routers of Ringway for one measurement |
#![deny(unsafe_code)]

pub mod bed;
pub mod device;
pub mod dut;
mod fault;
pub mod ports;
pub mod report;
pub mod temporary;
pub mod trial;

pub use fault::Fault;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
