//! Vantage points: packets end early at chosen places, and the differences of their costs are the stages between. No profiler is needed.
//!
//! | module | holds |
//! | --- | --- |
//! | [`points`] | the places of each device, and how packets are made to end there |
//! | [`session`] | rounds over all places |
//! | [`mod@stages`] | differences with their intervals |
//! | [`report`], [`page`] | all of it for people, for programs and as a page |
//!
//! Every place includes the release of the packet, so a stage that is cheaper to release than another shows a little less.

pub mod page;
pub mod points;
pub mod report;
pub mod session;
pub mod stages;

pub use points::{Cut, cuts};
pub use session::run;
pub use stages::{Rounds, Stage, stages};
