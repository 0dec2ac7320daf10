//! Names of the systems, and cases that one of them has not.

use crate::suite::{Fault, Sample};

/// The program in C.
pub(super) const API: &str = "netmap-api";

/// Ringway's own loops.
pub(super) const OWN: &str = "ringway";

/// Why a system has no number: it has nothing of the kind.
pub(super) fn lacks(what: &'static str) -> impl FnMut() -> Result<Sample, Fault> {
    move || Err(Fault::Unavailable(what.into()))
}
