//! Messages of all kinds, in segments of all kinds.

mod content;
mod corpus;
mod ftp_model;
mod http;
mod http_model;
mod render;
mod split;
mod world;

use super::parse::{Feed, Parse};
use super::{MatchState, Scratch, Verdict};

/// Runs a parser over bytes. Returns how many it took, and its captures, if the message is complete.
pub(super) fn parse<R, P: Parse<R>>(rules: &R, bytes: &[u8], last: bool) -> Option<(usize, [u64; 2])> {
    let (state, scratch) = (&mut MatchState::default(), &mut Scratch::default());
    let (step, captures) = Feed { state, scratch, bytes, last }.run::<P, R>(rules);
    (step.verdict == Verdict::Done).then_some((step.used, captures))
}
