//! What the benchmarks of both RFCs have alike.
//!
//! | module | holds |
//! | --- | --- |
//! | [`settings`] | how trials are run, and throughputs searched |

pub mod settings;
