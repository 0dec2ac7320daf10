//! The library as C programs have it: installed, found by pkg-config, and linked.
#![allow(clippy::unwrap_used, reason = "tests")]

mod abi;
mod examples;
mod headers;
mod programs;
mod support;
