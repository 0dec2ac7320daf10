//! `ringway apply` and `ringway export`, in network namespaces. Needs root; says so and passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod addresses;
mod apply_and_export;
mod bed;
mod killed;
mod namespaces;
mod refused;
#[path = "../support/mod.rs"]
mod support;
mod traffic;
