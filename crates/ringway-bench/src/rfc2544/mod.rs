//! RFC 2544 benchmarks: trials, searches and the six tests.
//!
//! | module | holds |
//! | --- | --- |
//! | [`rate`], [`mix`], [`schedule`] | exact arithmetic: rates, sizes, due times |
//! | [`ledger`], [`pauses`] | what arrived; when the tester itself stood still |
//! | [`port`], [`lanes`] | the world of a trial: clock, sender, receiver; lock step or threads |
//! | [`trial`] | what is asked, what was counted, and the verdict: pass, fail or invalid |
//! | [`search`] | the highest load that a device carries: state machines |
//! | [`device`] | modelled devices for virtual time |

mod collect;
pub mod device;
pub mod lanes;
pub mod ledger;
pub mod mix;
pub mod pauses;
pub mod port;
pub mod rate;
pub mod schedule;
pub mod search;
mod transmit;
pub mod trial;
