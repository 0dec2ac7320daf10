//! The cost model: what a packet costs, what that allows, and what a change would bring.
//!
//! | module | holds |
//! | --- | --- |
//! | [`costs`] | ticks a packet by group, and equations (1) to (3) |
//! | [`link`] | what a link carries: frames with FCS, preamble and gap |
//! | [`limits`] | the rate of `n` cores behind a link or a bus, and the bottleneck |
//! | [`batch`] | the cost of a poll, spread over its packets |
//! | [`cache`] | the cost of a lookup in a structure larger than a cache |
//! | [`compose`] | the cost of `A then B` |
//! | [`whatif`] | groups that get cheaper, and which of them pay |
//! | [`overload`] | rate out against rate in |
//! | [`interval`] | values with 95 % intervals |
//!
//! All functions are pure. A tick is one step of the clock whose frequency the caller gives: cycles of a core, or of the
//! time stamp counter.

#![forbid(unsafe_code)]

pub mod batch;
pub mod cache;
pub mod compose;
pub mod costs;
pub mod interval;
pub mod limits;
pub mod link;
pub mod overload;
pub mod whatif;

pub use batch::BatchCost;
pub use cache::{Caches, Level, Lookup};
pub use costs::Costs;
pub use interval::Interval;
pub use limits::{Bottleneck, Limits, Rate};
pub use link::Link;
pub use overload::Overload;
