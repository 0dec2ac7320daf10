//! A trial: frames of known times and numbers go through a device, and the tester counts which of them come back, and when.
//!
//! Clock and ports are parameters ([`port`]). So a trial runs in real time or under a virtual clock, and all benchmarks use the same loops.
//!
//! | module | holds |
//! | --- | --- |
//! | [`rate`], [`mix`], [`schedule`] | exact arithmetic: rates, sizes, due times |
//! | [`flow`], [`format`](mod@format), [`frame`], [`marks`] | what frames carry, what a received frame is, frames that take the place of others |
//! | [`variant`] | what a trial is repeated with: modifiers, numbers of flows |
//! | [`ledger`], [`pauses`] | what arrived; when the tester itself stood still |
//! | [`bed`] | what trials run on |
//! | [`port`], [`loops`], [`pollers`] | the world of a trial: clock, sender, receiver; lock step or threads |
//! | [`transmit`], [`collect`] | one turn of the sending loop, and of the receiving one |
//! | [`polled`] | devices of this process, which the tester polls |
//! | [`spec`], [`result`], [`fault`] | what a trial is to do, what it counted, and why it says nothing about the device |
//! | [`maximum`] | the rate that loads are shares of |
//! | [`command`], [`words`] | commands of the user; modelled devices in words |
//! | [`search`] | the highest load that a device carries: state machines |

pub mod bed;
pub mod collect;
pub mod command;
mod conclude;
pub mod fault;
pub mod flow;
pub mod format;
pub mod frame;
pub(crate) mod frames;
pub mod ledger;
pub mod loops;
pub mod marks;
pub mod maximum;
pub mod mix;
pub mod pauses;
pub mod polled;
pub mod pollers;
pub mod port;
pub mod rate;
pub mod result;
pub mod schedule;
pub mod search;
pub mod spec;
mod template;
pub mod transmit;
pub mod variant;
pub mod words;
