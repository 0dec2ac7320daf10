//! Messages: their bytes, made from registers, and the check of bytes that arrive.
//!
//! An expectation takes the bytes of a segment where they lie. It keeps no byte, and allocates nothing. A message may be split into segments
//! anywhere: the result is the same.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`matcher`] | which expectation an instruction stands for |
//! | [`content`] | templates, repeated templates, random bytes, any bytes: comparisons of memory |
//! | [`piece`], [`format`](mod@format) | formats, rendered and compared, with values that are taken |
//! | [`state`], [`parse`] | the state of parsers in a few words, and their loop over the bytes |
//! | [`text`] | lines |
//! | [`ftp`], [`port`], [`address`] | replies of FTP and SMTP, ports and addresses |
//! | [`http`], [`chunks`], [`sip`], [`start`], [`head`] | HTTP and SIP |
//! | [`dns`], [`tftp`], [`ntp`] | binary messages |

mod address;
mod chunks;
mod content;
mod dns;
mod format;
mod ftp;
mod head;
mod http;
mod matcher;
mod ntp;
mod parse;
mod piece;
mod port;
mod sip;
mod start;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod tftp;

use crate::content::table::Contents;

pub(crate) use self::matcher::Matcher;
pub(crate) use self::state::{MatchState, Scratch};

/// The table of random bytes that both ends have.
pub(crate) trait RandomBytes {
    /// Whether `bytes` are its bytes from `start` on.
    fn matches(&self, start: u64, bytes: &[u8]) -> bool;
}

impl RandomBytes for Contents {
    #[inline]
    fn matches(&self, start: u64, bytes: &[u8]) -> bool {
        Self::matches(self, start, bytes)
    }
}

/// What bytes say about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is not complete.
    More,
    /// It is complete. The bytes behind the used ones belong to the next message.
    Done,
    /// It is not what is expected. The byte behind the used ones is the first that can't follow.
    Mismatch,
}

/// What an expectation makes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// How many bytes it took.
    pub(crate) used: usize,
    /// Whether the message is complete.
    pub(crate) verdict: Verdict,
}

impl Match {
    const fn more(used: usize) -> Self {
        Self { used, verdict: Verdict::More }
    }

    const fn done(used: usize) -> Self {
        Self { used, verdict: Verdict::Done }
    }

    const fn mismatch(used: usize) -> Self {
        Self { used, verdict: Verdict::Mismatch }
    }

    /// Of one byte, which a mismatch does not take.
    #[inline]
    const fn byte(verdict: Verdict) -> Self {
        Self { used: if matches!(verdict, Verdict::Mismatch) { 0 } else { 1 }, verdict }
    }
}
