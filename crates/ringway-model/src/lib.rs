//! Where the cycles of a packet go.
#![deny(unsafe_code)]

pub mod fit;
pub mod model;
pub mod paper;
