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
//! | [`attacks`] | what attacks did to the stories beside them, by `cuts` when they began and ended |
//! | [`expectations`] | what a file expects, beside what was measured |
//! | [`report`] | the final report, and [`text`](report_text) for people |
//! | [`report_latency`], [`report_workers`], `report_transport` | parts of it |
//! | [`second`] | the numbers of each second |
//! | [`counts`], [`history`] | sums until a time, and samples of them |
//! | [`progress`] | what the workers of a run tell, put together |
//! | [`over_ports`] | a run over ports: `setup` makes its workers, `worker` is one of them, with its `rings` |
//! | `steering` | frames reach the worker that owns their connection |
//! | [`counted`] | what a worker hands over at its end |
//! | [`virtual_time`] | both ends in one shard, over a wire in memory |

pub mod attacks;
pub mod count;
pub mod counted;
pub mod counts;
mod cuts;
#[cfg(test)]
pub(crate) mod example;
pub mod expectations;
pub mod history;
pub mod meter;
pub mod over_ports;
pub mod plan;
pub mod progress;
pub mod report;
pub mod report_latency;
pub mod report_text;
mod report_transport;
pub mod report_workers;
mod rings;
pub mod second;
mod setup;
mod sides;
pub mod size;
pub mod steady;
mod steering;
pub mod stories;
pub mod virtual_time;
mod worker;
