//! What an end's program sends, and how it ends.

use crate::transport::input::Over;

/// What a program does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// Bytes that it sends, in pieces.
    pub(super) bytes: u32,
    pub(super) piece: u32,
    /// Bytes that it takes at a time, and the time between two meals; 0: at once.
    pub(super) bite: usize,
    pub(super) pause: u64,
    /// Whether it closes only after the peer did.
    pub(super) last: bool,
    /// When it loses patience.
    pub(super) reset_at: Option<u64>,
}

impl Program {
    pub(super) const fn sends(bytes: u32) -> Self {
        Self { bytes, piece: 5000, bite: 0, pause: 0, last: false, reset_at: None }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Over(Over),
    Failed,
    Reset,
}

/// The byte of an end's stream at an offset.
pub(super) fn byte(salt: u32, at: u32) -> u8 {
    (at ^ at >> 8 ^ at >> 16).wrapping_mul(salt) as u8
}
