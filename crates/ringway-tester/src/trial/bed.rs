//! What trials run on.

use std::fmt;

use ringway::Result;

use super::loops::Watch;
use super::result::TrialResult;
use super::spec::TrialSpec;

/// What trials run on: ports or a model.
pub trait TestBed: fmt::Debug {
    /// Runs one trial. `watch` gets live numbers; when it says no, the trial ends.
    ///
    /// # Errors
    /// When a port is gone or refuses.
    fn run(&mut self, order: &TrialSpec, watch: &mut Watch<'_>) -> Result<TrialResult>;

    /// Lets time pass; false when `go_on` said no meanwhile.
    fn pause(&mut self, ps: u64, go_on: &mut dyn FnMut() -> bool) -> bool;
}
