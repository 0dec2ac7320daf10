//! What a program asks for before it activates a handle.

use std::ffi::c_int;

use crate::types::MAX_SNAPLEN;

/// The values of the setters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {
    pub(crate) snaplen: c_int,
    pub(crate) promisc: bool,
    pub(crate) rfmon: bool,
    /// Milliseconds.
    pub(crate) timeout: c_int,
    pub(crate) buffer: c_int,
    pub(crate) precision: c_int,
    pub(crate) nonblock: bool,
}

impl Config {
    /// The snapshot length in effect: a length that makes no sense is the maximum.
    pub(crate) fn snaplen(&self) -> u32 {
        u32::try_from(self.snaplen).ok().filter(|s| (1..=MAX_SNAPLEN).contains(s)).unwrap_or(MAX_SNAPLEN)
    }
}
