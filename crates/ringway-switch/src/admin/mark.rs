//! The mark of a switch that goes away with its last port.

use std::path::Path;

use ringway_sys::dirs;
use ringway_sys::error::{Error, Result};

/// The directory that is the mark.
pub(super) const MARK: &str = "passing";

/// Marks the switch that is being made in `dir`.
pub(super) fn mark(dir: &Path, on: &str) -> Result<()> {
    dirs::make(&dir.join(MARK), 0o700).map_err(|e| Error::io(on, "marking the switch failed", e))
}
