//! The suite `io`: packet I/O over veth pairs and pipes, beside the ways that Linux has.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `tx` | send on a veth, burst 1 to 1024 | by an eBPF sink at the far end |
//! | `rx`, `rx-1mpps` | receive a flood; 0.95 Mpps without a loss | by the receiver |
//! | `forward` | from one veth to another | by an eBPF sink at the far end |
//! | `overload` | the same on one core, much more offered than it can move | by the same |
//! | `pipe` | from a program to a program | by the receiver |
//! | `ring` | cost of a slot, without moving anything | |
//! | `latency`, `idle-cpu` | round trips of single frames; cost of waiting | |
//!
//! Senders and generators run on CPU 0, receivers and forwarders on CPU 1. Every run starts with links of its
//! own and 200 ms of warm-up. On a veth, an XDP program at the far end costs senders of socket buffers a copy
//! per frame. A tc program costs senders of XDP frames the making of a socket buffer. So each system sends to
//! the sink that suits it.

pub mod forward;
mod kind;
mod latency;
mod overload;
mod pipe;
pub(super) mod rx;
pub(super) mod tx;

pub use kind::Kind;
pub(super) use pipe::{hand_over, in_turn, untagged};

use super::Case;
use super::bed::Bed;
use super::bed::{Links, SENDER, receiver};

/// All cases of the suite, in the order in which they are run.
pub fn cases(bed: Bed<'_>) -> Vec<Case<'_>> {
    let mut cases = tx::cases(bed);
    cases.extend(rx::cases(bed));
    cases.push(forward::case(bed));
    cases.push(overload::case(bed));
    cases.extend(pipe::cases(bed));
    cases.extend(latency::cases(bed));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Fault, names};
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn without_a_lab_links_are_a_named_gap() {
        let lab = Err(LabError::NotRoot);
        let signals = Signals::new();
        let bed = Bed::new(&lab, 0.1, &signals);
        assert!(matches!(bed.links(&["a"]), Err(Fault::Unavailable(reason)) if reason.contains("root")));
        let (cases, systems) = names(&cases(bed));
        assert!(cases.contains(&"rx-1mpps") && systems.contains(&"ringway-pipe-touch"));
    }
}
