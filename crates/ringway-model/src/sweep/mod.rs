//! Sweeps: a device under loads that differ in one thing, measured in rounds, kept in a file.
//!
//! | module | holds |
//! | --- | --- |
//! | [`point`] | a load |
//! | [`run`] | what one run of it measured, and whether it counts |
//! | [`spec`] | the device, the points and the rounds |
//! | [`mod@file`] | all of it with the results, as JSON |
//! | [`result`] | medians with their intervals |
//! | [`report`], [`page`], [`bars`] | all of it for people, for programs and as a page |
//!
//! All of it is data. [`rig`](crate::rig) measures.

pub mod bars;
pub mod file;
pub mod page;
pub mod point;
pub mod report;
pub mod result;
pub mod run;
pub mod spec;

pub use file::Sweep;
pub use point::Point;
pub use result::{Measured, results};
pub use run::Run;
pub use spec::{Spec, Swept};
