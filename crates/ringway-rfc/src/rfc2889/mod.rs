//! Benchmarks of switches with several ports after RFC 2889, with the trials and searches of [`trial`](ringway_tester::trial).
//!
//! | module | holds |
//! | --- | --- |
//! | [`pattern`], [`traffic`] | who sends to whom, and what each frame is: numbers and addresses by formula |
//! | [`trial`] | what was counted at each port, and faults of the tester |
//! | [`run`] | the loops of a trial: in lock step, or one thread that sends and one that receives |
//! | [`settings`], [`session`] | what to do; trials one after the other, repeated, and a device that has to forget |
//! | [`bisect`] | the highest number that passes |
//! | [`measure`] | the tests |
//! | [`bed`] | trials over ports |
//! | [`model`] | a modelled switch for virtual time |
//! | [`report`] | JSON, tables, CSV, page |

pub mod bed;
pub mod bisect;
pub mod measure;
pub mod model;
pub mod pattern;
mod receive;
pub mod report;
pub mod run;
pub mod session;
pub mod settings;
pub mod traffic;
pub mod trial;
