//! The benchmarks of RFC 2544: sessions and the six tests.
//!
//! | module | holds |
//! | --- | --- |
//! | [`settings`] | what to do |
//! | [`session`], [`record`], [`journal`] | trials one after the other, repeated, recorded |
//! | [`measure`] | the six tests |
//! | [`selftest`] | what the tester itself can do |
//! | [`report`] | JSON, tables, CSV, page; two reports compared |

pub mod journal;
pub mod measure;
pub mod record;
pub mod report;
pub mod selftest;
pub mod session;
#[cfg(test)]
mod session_tests;
pub mod settings;
mod updates;
