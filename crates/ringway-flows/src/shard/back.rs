//! The way back to the sender of a segment.

use crate::code::End;
use crate::transport::net::QuickWay;

/// The way back to the sender of the segment that is taken now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Back {
    /// The segment's connection, until it is released.
    pub(super) endpoint: u32,
    /// The side on which it came.
    pub(super) side: End,
    /// From where to where its answer goes.
    pub(super) way: QuickWay,
}
