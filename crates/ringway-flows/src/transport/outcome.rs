//! What a segment meets, and what it brings.

use super::settings::Settings;

/// What a segment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outcome<'a> {
    /// The connection is up.
    pub(crate) connected: bool,
    /// New bytes: the next ones of the stream, unless they are `early`.
    pub(crate) data: &'a [u8],
    /// The number of the first new byte, when bytes before it are missing.
    pub(crate) early: Option<u32>,
    /// The peer sends no more, after `data`. Where `early` is set, it is after bytes that are missing.
    pub(crate) fin: bool,
    /// Some bytes were acknowledged.
    pub(crate) acked: bool,
    /// The connection is over.
    pub(crate) over: Option<Over>,
    /// The segment gets a reset with this number, and acknowledgement if it had none.
    pub(crate) reset: Option<(u32, Option<u32>)>,
    /// What was wrong with it.
    pub(crate) oddity: Option<Oddity>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// In order: each end closed, and knows that the other did.
    Closed,
    /// The peer sent a reset.
    Reset,
    /// The peer answered SYN with a reset.
    Refused,
    /// A SYN for the same addresses and ports: a new connection may begin.
    Reopened,
}

/// What is counted of segments that are not as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// All of it came before.
    Repeated,
    /// Nothing of it is in the window.
    Outside,
    /// It acknowledges what was never sent.
    FalseAck,
    /// SYN or a reset that an attacker may have made: it is questioned.
    Challenged,
    /// Its flags make no sense here.
    Nonsense,
}

impl Outcome<'_> {
    pub(super) fn odd(oddity: Oddity) -> Self {
        Self { oddity: Some(oddity), ..Self::default() }
    }

    pub(super) fn reset(seq: u32, ack: Option<u32>, oddity: Oddity) -> Self {
        Self { reset: Some((seq, ack)), ..Self::odd(oddity) }
    }

    pub(super) fn over(how: Over) -> Self {
        Self { over: Some(how), ..Self::default() }
    }
}

/// What surrounds a connection when a segment arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now<'a> {
    /// The settings of the run.
    pub(crate) settings: &'a Settings,
    /// The time in ns.
    pub(crate) ns: u64,
    /// Bytes that may arrive (RCV.WND).
    pub(crate) room: u32,
}

impl Now<'_> {
    /// The time in microseconds that wrap around after 71 minutes.
    #[inline]
    pub(crate) const fn us(&self) -> u32 {
        (self.ns / 1000) as u32
    }
}
