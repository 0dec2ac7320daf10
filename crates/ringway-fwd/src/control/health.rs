//! How following goes.

use std::time::Duration;

use super::state::Inconsistency;

/// How following goes; numbers only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether the last comparison or reading found the kernel's tables equal to their copy (`fib_in_sync`), and no inconsistency came up since.
    pub in_sync: bool,
    /// Changes taken in.
    pub events: u64,
    /// Readings of all tables.
    pub syncs: u64,
    /// Times that messages were lost because the socket's buffer was full.
    pub overruns: u64,
    /// Changes that did not fit the changes before.
    pub inconsistencies: u64,
    /// The last of them.
    pub inconsistency: Option<Inconsistency>,
    /// Readings begun again because tables changed.
    pub restarts: u64,
    /// Comparisons.
    pub checks: u64,
    /// Comparisons that found a difference, which was then repaired.
    pub repairs: u64,
    /// How long the last reading took.
    pub sync_time: Duration,
}
