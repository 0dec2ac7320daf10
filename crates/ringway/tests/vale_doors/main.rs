//! What a user of a port tries at the doors around it: in directories, with descriptors that he kept, with maps that he may write. Each
//! test was once a way to become root, to read or change what belongs to others, or to keep root from working. Needs root; says so and
//! passes without.
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../support/mod.rs"]
mod support;

mod access;
mod client;
mod descriptors;
mod files;
mod roots;
