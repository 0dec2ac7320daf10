//! Routers by commands, in network namespaces: hosts a and b on both sides of a router that the kernel was before. Needs root; says so and
//! passes without.
#![allow(clippy::unwrap_used, reason = "tests")]

mod add_and_del;
mod bed;
mod follow_the_kernel;
mod killed_while_changed;
mod refusals;
mod rights_of_others;
mod rules_and_links_change;
mod stages;
#[path = "../support/mod.rs"]
mod support;
