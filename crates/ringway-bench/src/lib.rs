//! Traffic generation and measurement over Ringway ports.
//!
//! | module | |
//! | --- | --- |
//! | [`traffic`] | frames, schedules, checks and reports, without I/O |
//! | [`engine`] | the loops that put them on rings: sender, receiver, ping, pong, bridge |
//! | [`affinity`] | one thread, one CPU |
#![deny(unsafe_code)]

pub mod affinity;
pub mod engine;
pub mod traffic;
