//! Searches for the highest load that a device carries, as state machines without clocks or ports.
//!
//! A search says which load to try next and for how long, and learns what was lost. It never sees a trial
//! that is invalid: its caller repeats such trials.
//!
//! ```
//! use ringway_tester::trial::rate::{Load, SECOND};
//! use ringway_tester::trial::search::{Binary, Measured, Search, Step};
//!
//! let mut search = Binary::new(Load(1000), SECOND, 60 * SECOND);
//! let found = loop {
//!     match search.next() {
//!         Step::Done(found) => break found,
//!         // A device that carries 43.21 % of the load.
//!         Step::Try { load, length_ps } => {
//!             let lost = 1_000_000 - 1_000_000.min(432_100_000_000 / u64::from(load.0));
//!             search.learn(&Measured { load, length_ps, sent: 1_000_000, lost, forwarded: load, limited: false });
//!         }
//!     }
//! };
//! assert!((431_100..=432_100).contains(&found.goals[0].load.unwrap().0));
//! ```

mod binary;
mod mlr;
mod preset;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

pub use binary::Binary;
pub use mlr::{Goal, Mlr};
pub use preset::{Preset, SearchKind, SearchPlan};

use super::rate::{Load, loss_ppm};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Measure this load for so long.
    Try {
        /// Load.
        load: Load,
        /// Picoseconds.
        length_ps: u64,
    },
    /// The search is over.
    Done(Found),
}

/// What a valid trial, or one at the limit of the tester, showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The load that was asked for.
    pub load: Load,
    /// Picoseconds.
    pub length_ps: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Rate that was forwarded, as a load.
    pub forwarded: Load,
    /// The tester could not send all that was asked for, and repeats did not help; `load` is what it did send.
    pub limited: bool,
}

impl Measured {
    /// Millionths lost, rounded up.
    #[must_use]
    pub fn loss_ppm(&self) -> u64 {
        loss_ppm(self.sent, self.lost)
    }
}

/// Why a search ended where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A higher load was seen to fail, within the resolution.
    Bracketed,
    /// The highest load that there is was carried.
    Maximum,
    /// The device carried all that the tester could send: it may be able to do more.
    TesterLimit,
    /// No load was carried.
    Nothing,
}

/// What a search found for one goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalResult {
    /// Highest load that meets the goal; `None` when none does.
    pub load: Option<Load>,
    /// Lowest load above it that was seen to fail.
    pub failing: Option<Load>,
    /// Load times what arrived of it, in millionths of the maximum (RFC 9971); the load itself without loss.
    pub conditional: f64,
    /// Goal: millionths that may be lost.
    pub loss_ppm: u64,
    /// Why the search ended.
    pub reason: Reason,
}

/// What a search found, for each of its goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// One for each goal, in their order.
    pub goals: Vec<GoalResult>,
}

impl Found {
    /// The highest load that meets the first goal.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        self.goals.first()?.load
    }

    /// Whether the tester could not send more than that: the device may do better.
    #[must_use]
    pub fn limited(&self) -> bool {
        self.goals.first().is_some_and(|goal| goal.reason == Reason::TesterLimit)
    }

    /// For a single goal.
    #[must_use]
    pub(super) fn one(load: Option<Load>, failing: Option<Load>, loss_ppm: u64, reason: Reason) -> Self {
        let conditional = load.map_or(0.0, |load| f64::from(load.0));
        Self { goals: vec![GoalResult { load, failing, conditional, loss_ppm, reason }] }
    }
}

/// A search.
pub trait Search: Debug {
    /// The next step; the same until [`learn`](Self::learn) is called.
    fn next(&self) -> Step;

    /// Takes note of what the trial that [`next`](Self::next) asked for showed.
    fn learn(&mut self, measured: &Measured);
}
