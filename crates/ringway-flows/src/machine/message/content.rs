//! Expectations of bytes that are known in advance, or of which only the number is.

use super::{Match, MatchState, RandomBytes};

/// What `bytes` say about a message of `len` bytes, of which `state` counts those behind. `matches` compares bytes with the message from a
/// position on.
#[inline]
pub(super) fn expect(
    len: u64,
    state: &mut MatchState,
    bytes: &[u8],
    matches: impl Fn(u64, &[u8]) -> bool,
) -> Match {
    let at = state.0;
    let left = len.saturating_sub(at);
    let whole = bytes.len() as u64 >= left;
    let bytes = if whole { &bytes[..left as usize] } else { bytes };
    if !matches(at, bytes) {
        return Match::mismatch(agreeing(bytes, |from, part| matches(at + from, part)));
    }
    state.0 = at + bytes.len() as u64;
    if whole { Match::done(bytes.len()) } else { Match::more(bytes.len()) }
}

/// How many of the first bytes agree, when not all do.
#[cold]
fn agreeing(bytes: &[u8], matches: impl Fn(u64, &[u8]) -> bool) -> usize {
    let (mut low, mut high) = (0, bytes.len());
    while high - low > 1 {
        let middle = low.midpoint(high);
        if matches(low as u64, &bytes[low..middle]) { low = middle } else { high = middle }
    }
    low
}

/// The bytes of a template.
#[inline]
pub(super) fn template(template: &[u8], state: &mut MatchState, bytes: &[u8]) -> Match {
    let part = |at: u64, len: usize| template.get(at as usize..)?.get(..len);
    expect(template.len() as u64, state, bytes, |at, bytes| part(at, bytes.len()) == Some(bytes))
}

/// `len` bytes of a template that is repeated.
#[inline]
pub(super) fn repeated(template: &[u8], len: u64, state: &mut MatchState, bytes: &[u8]) -> Match {
    expect(len, state, bytes, |at, bytes| is_repeated(template, at, bytes))
}

fn is_repeated(template: &[u8], at: u64, bytes: &[u8]) -> bool {
    if template.is_empty() {
        return bytes.is_empty();
    }
    let start = (at % template.len() as u64) as usize;
    let (first, rest) = bytes.split_at(bytes.len().min(template.len() - start));
    template[start..].starts_with(first)
        && rest.chunks(template.len()).all(|chunk| template.starts_with(chunk))
}

/// `len` random bytes from position `start` of the table.
#[inline]
pub(super) fn random(
    table: &impl RandomBytes,
    start: u64,
    len: u64,
    state: &mut MatchState,
    bytes: &[u8],
) -> Match {
    expect(len, state, bytes, |at, bytes| table.matches(start.wrapping_add(at), bytes))
}

/// `len` bytes, whatever they are.
#[inline]
pub(super) fn any(len: u64, state: &mut MatchState, bytes: &[u8]) -> Match {
    expect(len, state, bytes, |_, _| true)
}
