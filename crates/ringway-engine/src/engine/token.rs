//! A frame on its way: where its bytes are, how many, where it came from and where it goes.

use ringway::{BufToken, Region};

/// No port.
pub(super) const NOWHERE: u16 = u16::MAX;

/// A frame as queues carry it. Each has a buffer of the engine's region. When that is too small, the bytes are in memory
/// of the frame's own.
///
/// Dropping a token loses its buffer, so only [`Home`](super::home::Home) lets go of one.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) buf: BufToken,
    pub(super) long: Option<Box<Long>>,
    pub(super) len: u32,
    /// The port that it came from, or [`NOWHERE`].
    pub(super) from: u16,
    /// The port that it leaves by, or [`NOWHERE`].
    pub(super) to: u16,
}

/// The bytes of a frame that is longer than a buffer.
#[derive(Debug)]
pub(super) struct Long(pub(super) Vec<u8>);

impl Token {
    /// The frame's bytes, without FCS.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, region: &'a Region) -> &'a [u8] {
        match &self.long {
            None => &region.token_bytes(&self.buf)[..self.len as usize],
            Some(long) => &long.0[..self.len as usize],
        }
    }

    /// The same, to change, with all that there is room for behind them.
    #[inline]
    pub(super) fn room<'a>(&'a mut self, region: &'a Region) -> &'a mut [u8] {
        match &mut self.long {
            None => region.token_bytes_mut(&mut self.buf),
            Some(long) => &mut long.0,
        }
    }
}
