//! What the benchmarks of both RFCs have alike.
//!
//! | module | holds |
//! | --- | --- |
//! | [`settings`] | how trials are run, and throughputs searched |
//! | [`stop`] | why a benchmark ended early |
//! | [`report`], `table` | what reports say of themselves, and their tables |

pub mod report;
pub mod settings;
pub mod stop;
pub(crate) mod table;
