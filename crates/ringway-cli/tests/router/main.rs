//! Routers by commands, in network namespaces: hosts a and b on both sides of a router that the kernel was before. Needs root; says so and
//! passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bed;
mod doors;
mod follow;
mod killed;
mod later;
mod made;
mod refused;
#[path = "../support/mod.rs"]
mod support;
