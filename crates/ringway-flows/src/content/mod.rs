//! Contents and draws that both ends compute alike, from the same seeds, on any machine.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`random`] | numbers from a seed |
//! | [`draws`] | distributions: exponential, normal, Pareto and others |
//! | [`zipf`] | ranks by Zipf's law |
//! | [`math`] | the functions that distributions need |
//! | [`table`] | random bytes, with checksums of each part in O(1) |

pub mod draws;
pub mod math;
pub mod random;
pub mod table;
pub mod zipf;
