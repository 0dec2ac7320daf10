//! The stages of a router's work, by the names that `ringway prof` gives to groups of functions.

/// To sync a ring and fetch what came.
pub(super) const RX: usize = 0;
/// To take the frames and check their headers.
pub(super) const PREROUTING: usize = 1;
/// To look routes up, decide and count.
pub(super) const ROUTING: usize = 2;
/// To write link headers and TTLs.
pub(super) const POSTROUTING: usize = 3;
/// To put frames into rings and send these.
pub(super) const TX: usize = 4;
/// To pass on what the host sends.
pub(super) const HOST: usize = 5;

/// Their names.
pub(super) const NAMES: [&str; 6] = ["RX", "prerouting", "routing", "postrouting", "TX", "host"];
