//! RFC 2544 benchmarks: trials, searches and the six tests.
//!
//! | module | holds |
//! | --- | --- |
//! | [`rate`], [`mix`], [`schedule`] | exact arithmetic: rates, sizes, due times |
//! | [`ledger`], [`pauses`] | what arrived; when the tester itself stood still |
//! | [`port`], [`lanes`] | the world of a trial: clock, sender, receiver; lock step or threads |
//! | [`trial`] | what is asked, what was counted, and the verdict: pass, fail or invalid |
//! | [`search`] | the highest load that a device carries: state machines |
//! | [`settings`], [`variant`] | what to do, and what it is repeated with: modifiers, numbers of flows |
//! | [`session`], [`record`], [`journal`] | trials one after the other, repeated, recorded |
//! | [`measure`] | the six tests |
//! | [`selftest`] | what the tester itself can do |
//! | [`flow`], [`format`](mod@format), [`frame`], [`marks`] | what frames carry, what a received frame is, frames in the place of others |
//! | [`real`] | trials over ports |
//! | [`report`] | JSON, tables, CSV, page; two reports compared |
//! | [`device`] | modelled devices for virtual time |

pub(crate) mod collect;
mod command;
pub mod device;
pub mod flow;
pub mod format;
pub mod frame;
mod frames;
pub mod journal;
pub mod lanes;
pub mod ledger;
pub mod marks;
pub mod measure;
pub mod mix;
pub mod pauses;
pub mod port;
pub mod rate;
pub mod real;
pub mod record;
pub mod report;
pub mod schedule;
pub mod search;
pub mod selftest;
pub mod session;
#[cfg(test)]
mod session_tests;
pub mod settings;
mod template;
pub(crate) mod transmit;
pub mod trial;
mod updates;
pub mod variant;
