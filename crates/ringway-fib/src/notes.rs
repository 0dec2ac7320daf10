//! What one publication has changed in blocks.

use super::amend::Part;
use super::block::{Child, Form};

/// Changes of blocks, to be undone if the publication fails.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) forms: Vec<(u32, Form)>,
    /// What forms are amended by.
    pub(super) parts: Vec<Part>,
    pub(super) children: Vec<(u32, Child)>,
    /// Blocks without a route, with the one above each.
    pub(super) hollow: Vec<(u32, u32)>,
    pub(super) hollow_tops: Vec<u16>,
}
