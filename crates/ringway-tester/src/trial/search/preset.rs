//! Searches by name.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Binary, Goal, Mlr, Search};
use crate::trial::rate::{Load, SECOND};

/// How loads are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchKind {
    /// Halving.
    #[default]
    Binary,
    /// Halving, failures verified (TST 009).
    BinaryVerify,
    /// RFC 9971.
    Mlr,
}

impl fmt::Display for SearchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary",
            Self::BinaryVerify => "binary-verify",
            Self::Mlr => "mlr",
        })
    }
}

/// Goals by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// No loss in 60 s.
    #[default]
    Rfc2544,
    /// No loss in 60 s, in at least half of 120 s.
    Tst009,
    /// No loss in 1 s, in at least half of 21 s: non-drop rate as FD.io CSIT measures it.
    Ndr,
    /// At most 0.5 % lost in 1 s, in at least half of 21 s: partial drop rate.
    Pdr,
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rfc2544 => "rfc2544",
            Self::Tst009 => "tst009",
            Self::Ndr => "ndr",
            Self::Pdr => "pdr",
        })
    }
}

impl Preset {
    /// The goal, for a search that ends when bounds are `width_ppm` apart.
    #[must_use]
    pub fn goal(self, width_ppm: u64) -> Goal {
        let seconds = |s: u64| s * SECOND;
        let goal = |loss_ppm, final_s, sum_s, exceed_ppm, width_ppm| Goal {
            loss_ppm,
            final_ps: seconds(final_s),
            sum_ps: seconds(sum_s),
            exceed_ppm,
            width_ppm,
        };
        match self {
            Self::Rfc2544 => goal(0, 60, 60, 0, width_ppm),
            Self::Tst009 => goal(0, 60, 120, 500_000, width_ppm),
            Self::Ndr => goal(0, 1, 21, 500_000, 5_000),
            Self::Pdr => goal(5_000, 1, 21, 500_000, 5_000),
        }
    }
}

/// A search with all its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// How loads are chosen.
    pub kind: SearchKind,
    /// What a load has to meet; the binary searches use the first.
    pub goals: Vec<Goal>,
    /// Length of the trials of a binary search before the last, picoseconds.
    pub short_ps: u64,
    /// Resolution of a binary search.
    pub resolution: Load,
    /// Repeats of a failure by `binary-verify`.
    pub repeats: u32,
    /// Loss above which `binary-verify` believes a failure at once, millionths.
    pub believed_ppm: u64,
}

impl SearchPlan {
    /// The search for a preset, down to `resolution`.
    #[must_use]
    pub fn new(kind: SearchKind, presets: &[Preset], resolution: Load) -> Self {
        let goals: Vec<Goal> = presets.iter().map(|p| p.goal(resolution.0.into())).collect();
        let short_ps = goals.first().map_or(SECOND, |goal| goal.final_ps);
        Self { kind, goals, short_ps, resolution, repeats: 2, believed_ppm: 50_000 }
    }

    /// A search at its start.
    #[must_use]
    pub fn start(&self) -> Box<dyn Search> {
        let goal = self.goals.first().copied().unwrap_or(Preset::Rfc2544.goal(self.resolution.0.into()));
        let binary = Binary::new(self.resolution, self.short_ps, goal.final_ps).with_loss(goal.loss_ppm);
        match self.kind {
            SearchKind::Binary => Box::new(binary),
            SearchKind::BinaryVerify => Box::new(binary.with_repeats(self.repeats, self.believed_ppm)),
            SearchKind::Mlr => Box::new(Mlr::new(&self.goals, self.resolution)),
        }
    }
}
