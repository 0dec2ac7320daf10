//! Traffic generation and measurement over Ringway ports.
#![deny(unsafe_code)]

pub mod peers;
pub mod traffic;
