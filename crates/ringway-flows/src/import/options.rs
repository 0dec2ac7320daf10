//! How a capture becomes a story.

/// How a capture becomes a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Messages of more bytes become random bytes of the same number. At most [`MAX_LITERAL`](Self::MAX_LITERAL).
    pub literal: u64,
    /// Ends think as long as they did in the capture.
    pub think: bool,
}

impl Options {
    /// Most bytes of a message that a story says byte by byte.
    pub const MAX_LITERAL: u64 = 256 << 10;
}

impl Default for Options {
    /// Messages up to 4 KiB byte by byte, without times.
    fn default() -> Self {
        Self { literal: 4 << 10, think: false }
    }
}
