//! Runs of a bundle: which flows start when, both ends in virtual time, and the report.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`stories`] | the stories that ship, compiled in |
//! | [`size`] | rates, concurrency and memory that a plan asks for |
//! | [`steady`] | the times that are measured |
//! | [`plan`] | which flow starts now |
//! | [`count`] | flows as both of their ends saw them |
//! | [`meter`] | what is kept of a run while it goes |
//! | [`expectations`] | what a file expects, beside what was measured |
//! | [`report`] | the final report, and [`text`](report_text) for people |
//! | [`second`] | the numbers of each second |
//! | [`over_ports`] | one worker over ports |
//! | [`virtual_time`] | both ends in one shard, over a wire in memory |

pub mod count;
#[cfg(test)]
mod example;
pub mod expectations;
pub mod meter;
pub mod over_ports;
pub mod plan;
pub mod report;
pub mod report_text;
pub mod second;
pub mod size;
pub mod steady;
pub mod stories;
pub mod virtual_time;
