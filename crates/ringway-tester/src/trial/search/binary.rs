//! Halving.

use super::{Found, Measured, Reason, Search, Step};
use crate::trial::rate::Load;

/// Loads known to pass or to fail, and what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    /// Loads that passed a trial, of any length.
    passed: Vec<Load>,
    failed: Option<Load>,
    resolution: u32,
    /// The highest load that can be offered.
    max: Load,
    limited: bool,
}

impl Bracket {
    pub(super) fn new(resolution: Load) -> Self {
        let resolution = resolution.0.max(1);
        Self { passed: Vec::new(), failed: None, resolution, max: Load::MAX, limited: false }
    }

    /// Highest load that passed and is not known to fail.
    pub(super) fn low(&self) -> Option<Load> {
        let open = |load: &Load| self.failed.is_none_or(|failed| *load < failed);
        self.passed.iter().copied().filter(open).max().map(|load| load.min(self.max))
    }

    /// The load to try next; `None` when what is known is close enough.
    pub(super) fn middle(&self) -> Option<Load> {
        let low = self.low().map_or(0, |load| load.0);
        match self.failed {
            None if low >= self.max.0 => None,
            None => Some(self.max),
            Some(failed) if failed.0 - low <= self.resolution => None,
            Some(failed) => Some(Load(low + (failed.0 - low) / 2)),
        }
    }

    pub(super) fn pass(&mut self, load: Load) {
        self.passed.push(load);
    }

    pub(super) fn fail(&mut self, load: Load) {
        self.failed = Some(self.failed.map_or(load, |failed| failed.min(load)));
    }

    /// The tester can't offer more than `load`.
    pub(super) fn limit(&mut self, load: Load) {
        self.max = self.max.min(load);
        self.limited = true;
    }

    pub(super) fn found(&self, loss_ppm: u64) -> Found {
        let low = self.low();
        let reason = match (low, self.failed) {
            (None, _) => Reason::Nothing,
            (_, Some(_)) => Reason::Bracketed,
            (_, None) if self.limited => Reason::TesterLimit,
            (_, None) => Reason::Maximum,
        };
        Found::one(low, self.failed, loss_ppm, reason)
    }
}

/// Halves the range between the highest load that passed and the lowest that failed. Trials may be short while searching; the
/// result is confirmed by one of full length, and if that fails the search goes on below.
///
/// With [repeats](Self::with_repeats) it is the binary search with loss verification of ETSI GS NFV-TST 009, 12.3.3: a failure is
/// not believed at once. The trial is repeated, unless it lost more than a disturbance would explain, and one that passes
/// makes the load a lower bound.
#[derive(Clone, Debug)]
pub struct Binary {
    bracket: Bracket,
    loss_ppm: u64,
    repeats: u32,
    /// Loss above which a failure is believed at once.
    believed_ppm: u64,
    /// Failures so far of the load that is tried now.
    failures: u32,
    short_ps: u64,
    full_ps: u64,
    confirmed: Option<Load>,
}

impl Binary {
    /// A search without loss down to `resolution`, with trials of `short_ps` and a last one of `full_ps`.
    #[must_use]
    pub fn new(resolution: Load, short_ps: u64, full_ps: u64) -> Self {
        Self {
            bracket: Bracket::new(resolution),
            loss_ppm: 0,
            repeats: 0,
            believed_ppm: 0,
            failures: 0,
            short_ps: short_ps.min(full_ps),
            full_ps,
            confirmed: None,
        }
    }

    /// Millionths that may be lost.
    #[must_use]
    pub fn with_loss(self, loss_ppm: u64) -> Self {
        Self { loss_ppm, ..self }
    }

    /// How often a failure is repeated, and the loss above which it is believed at once.
    #[must_use]
    pub fn with_repeats(self, repeats: u32, believed_ppm: u64) -> Self {
        Self { repeats, believed_ppm, ..self }
    }
}

impl Search for Binary {
    fn next(&self) -> Step {
        if let Some(load) = self.bracket.middle() {
            return Step::Try { load, length_ps: self.short_ps };
        }
        match self.bracket.low() {
            Some(load) if self.confirmed != Some(load) => Step::Try { load, length_ps: self.full_ps },
            _ => Step::Done(self.bracket.found(self.loss_ppm)),
        }
    }

    fn learn(&mut self, measured: &Measured) {
        if measured.limited {
            self.bracket.limit(measured.load);
        }
        let loss = measured.loss_ppm();
        if loss > self.loss_ppm {
            self.failures += 1;
            if self.failures > self.repeats || loss > self.believed_ppm {
                self.failures = 0;
                self.bracket.fail(measured.load);
            }
            return;
        }
        self.failures = 0;
        self.bracket.pass(measured.load);
        if measured.length_ps >= self.full_ps {
            self.confirmed = Some(measured.load);
        }
    }
}
