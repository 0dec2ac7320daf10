//! Traffic generation and measurement over Ringway ports.
#![deny(unsafe_code)]

pub mod traffic;
pub mod peers;
