//! Datagrams between two ports of a capture.

use super::left::Notes;
use super::talk::{MAX_STEPS, Step};
use crate::code::End;

/// The longest datagram that goes without a fragment, over IPv4 and IPv6.
const MOST: [usize; 2] = [1_472, 1_452];
/// Shorter pauses of an end are part of its work.
const LEAST_THINK: u64 = 1_000_000;

/// Datagrams so far. The end that sent the first one is the client.
#[derive(Debug, Default)]
pub(super) struct Udp {
    steps: Vec<Step>,
    thinks: Vec<u64>,
    last: u64,
    /// Datagrams that were left out.
    empty: u64,
    long: u64,
    more: u64,
}

impl Udp {
    /// Takes a datagram.
    pub(super) fn take(&mut self, end: End, data: &[u8], v4: bool, now: u64) {
        let think = if self.steps.is_empty() { 0 } else { now.saturating_sub(self.last) };
        if self.steps.is_empty() && end == End::Server {
            // Its question was left out, so it is none of an answer.
            self.more += 1;
        } else if data.is_empty() {
            self.empty += 1;
        } else if data.len() > MOST[usize::from(!v4)] {
            self.long += 1;
        } else if self.steps.len() >= MAX_STEPS {
            self.more += 1;
        } else {
            self.steps.push(Step::Bytes(end, data.to_vec()));
            self.thinks.push(if think < LEAST_THINK { 0 } else { think });
            self.last = now;
        }
    }

    /// The datagrams with the times before them. `None`: none can be taken over, as `notes` say.
    pub(super) fn finish(self, first: u64, notes: &mut Notes) -> Option<(Vec<Step>, Vec<u64>)> {
        let reasons = [
            (self.empty, "without a byte: nobody could wait for them".to_owned()),
            (self.long, format!("of more than {} bytes, or {} over IPv6", MOST[0], MOST[1])),
            (self.more, format!("behind the first {MAX_STEPS}, or without a question")),
        ];
        for (count, why) in reasons {
            if count > 0 {
                notes.conversation(first, format!("{count} datagrams are left out {why}"));
            }
        }
        (!self.steps.is_empty()).then_some((self.steps, self.thinks))
    }
}
