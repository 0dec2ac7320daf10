//! Routers that forward what the generator sends.

use crate::peers::Peer;
use crate::suite::Fault;

/// A router that is set up; dropping it takes it away.
pub(super) trait Router {
    /// Frames that it has lost and counted so far.
    fn lost(&mut self) -> Result<u64, Fault> {
        Ok(0)
    }
}

/// The kernel's own.
impl Router for () {}

impl Router for Peer {}
