//! The router in a process, between namespaces. Needs root; says so and passes without.
//!
//! Objective: what the kernel's router did before goes on, faster and by the same tables; nothing is left behind.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bed;
mod example;
mod forward;
mod kernel;
mod limits;
