//! Whose time a benchmark ran in.

use serde::{Deserialize, Serialize};

/// Whose time a benchmark ran in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeKind {
    /// The real clock.
    Real,
    /// A virtual clock, a modelled device: exact, and nothing to do with speed.
    Virtual,
    /// A virtual clock, real ports in lock step with it: counts are exact, rates are those asked for.
    LockStep,
}
