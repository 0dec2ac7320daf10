//! Trials over ports: in real time with two threads, or in lock step under a virtual clock.

mod rig;
mod stations;

pub use rig::{RealRig, RigSpec};
