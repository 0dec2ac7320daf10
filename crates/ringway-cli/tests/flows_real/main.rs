//! Flows against real programs, over veths between two network namespaces: Ringway's clients against nginx, vsftpd and dnsmasq, and curl, wget,
//! dig and lftp against Ringway's servers. Then peers that are killed in the middle. Needs root, and says so and passes without; a program that is
//! missing is skipped by name.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bed;
mod clients;
mod killed;

mod program;
mod routed;
mod servers;
#[path = "../support/mod.rs"]
mod support;
