//! Predictions from a sweep: a curve through some of its points says what the others measure.
//!
//! | module | holds |
//! | --- | --- |
//! | [`curve`] | the curve of each kind of sweep |
//! | [`flows`] | flows and routes: caches, and packets that repeat the flow before them |
//! | [`held_out`] | predicted against measured: each point left out in turn, or all but a part |
//! | [`chain`](mod@chain), [`chain_report`] | two devices one behind the other, from their groups |
//! | [`whatif`] | a change of groups as a page |
//! | [`report`], [`page`] | predictions for people, for programs and as a page |

pub mod chain;
pub mod chain_report;
pub mod curve;
pub mod flows;
pub mod held_out;
pub mod page;
pub mod report;
pub mod whatif;

pub use chain::{Chain, chain};
pub use curve::Curve;
pub use held_out::{Kind, Predicted, Prediction, from_part, leave_one_out};
