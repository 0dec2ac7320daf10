//! RFC 2544 benchmarks: trials, searches and the six tests.
//!
//! | module | holds |
//! | --- | --- |
//! | [`rate`], [`mix`], [`schedule`] | exact arithmetic: rates, sizes, due times |
//! | [`ledger`], [`pauses`] | what arrived; when the tester itself stood still |
//! | [`port`], [`lanes`] | the world of a trial: clock, sender, receiver; lock step or threads |
//! | [`trial`] | what is asked, what was counted, and the verdict: pass, fail or invalid |
//! | [`search`] | the highest load that a device carries: state machines |
//! | [`settings`], [`session`], [`journal`] | what to do; trials one after the other, repeated, recorded |
//! | [`measure`] | the six tests |
//! | [`flow`], [`frame`] | what frames carry, and what a received frame is |
//! | [`real`] | trials over ports |
//! | [`report`] | JSON, tables, CSV, page; two reports compared |
//! | [`device`] | modelled devices for virtual time |

mod collect;
pub mod device;
pub mod flow;
pub mod frame;
pub mod journal;
pub mod lanes;
pub mod ledger;
pub mod measure;
pub mod mix;
pub mod pauses;
pub mod port;
pub mod rate;
pub mod real;
pub mod report;
pub mod schedule;
pub mod search;
pub mod session;
#[cfg(test)]
mod session_tests;
pub mod settings;
mod transmit;
pub mod trial;
