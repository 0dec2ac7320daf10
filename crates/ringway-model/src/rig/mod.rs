//! Devices under load: set up by name, fed by a generator on one CPU, and measured by the exact time of the thread that forwards.
//!
//! ```text
//! generator on CPU 0 -> t0|d0 -> NAPI thread of d0 on CPU 1: device -> d1|t1 -> sink, in the same thread
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | [`frames`] | the frames of a load |
//! | [`generate`] | the loop that offers them |
//! | [`napi`] | the thread in which an interface receives |
//! | [`links`] | counts of interfaces |
//! | [`bed`] | a device, what feeds it and what takes its frames |
//! | [`mod@measure`] | one run of a point |
//! | [`sampled`] | a run with samples by group |
//! | [`session`] | a sweep at work |
//! | [`caches`] | the data caches of this machine |

pub mod bed;
pub mod caches;
pub mod frames;
pub mod generate;
pub mod links;
pub mod measure;
pub mod napi;
mod priority;
pub mod sampled;
pub mod session;
pub mod tally;

pub use bed::{Bed, Count, Cpus};
pub use measure::{Length, measure};
