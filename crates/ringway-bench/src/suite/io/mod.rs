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
//! Senders and generators run on CPU 0, receivers and forwarders on CPU 1. Every run starts with links of its own
//! and 200 ms of warm-up. On a veth, an XDP program at the far end costs senders of socket buffers a copy per
//! frame, and a tc program costs senders of XDP frames the making of a socket buffer: each system sends to the
//! sink that suits it.

mod duo;
pub mod forward;
mod kind;
mod latency;
mod loops;
mod meter;
mod overload;
mod pipe;
mod rx;
mod tx;

use std::thread;

pub use kind::Kind;

use super::{Case, Fault};
use crate::engine::Signals;
use crate::lab::{Lab, LabError};

/// CPU of senders and generators.
const SENDER: usize = 0;

/// CPU of receivers and forwarders.
fn receiver() -> usize {
    thread::available_parallelism().map_or(0, |n| 1.min(n.get() - 1))
}

/// Where to measure and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Bed<'a> {
    lab: Result<&'a Lab, &'a LabError>,
    seconds: f64,
    signals: &'a Signals,
}

impl<'a> Bed<'a> {
    /// Measures in `lab` for `seconds` each time. Without a lab, cases that need links are skipped by name.
    /// Loops of ours end early when `signals` says so.
    pub fn new(lab: &'a Result<Lab, LabError>, seconds: f64, signals: &'a Signals) -> Self {
        Self::of(lab.as_ref(), seconds, signals)
    }

    /// The same from parts.
    pub(crate) fn of(lab: Result<&'a Lab, &'a LabError>, seconds: f64, signals: &'a Signals) -> Self {
        Self { lab, seconds, signals }
    }

    fn lab(&self) -> Result<&'a Lab, Fault> {
        self.lab.map_err(|e| Fault::Unavailable(e.to_string()))
    }

    /// Makes veth pairs for one measurement: `a` is `a0` and `a1`, and so on.
    fn links(&self, pairs: &'static [&'static str]) -> Result<Links<'a>, Fault> {
        let links = Links { lab: self.lab()?, pairs };
        for pair in pairs {
            links.lab.veth(&format!("{pair}0"), &format!("{pair}1"))?;
        }
        Ok(links)
    }
}

/// Veth pairs, deleted when dropped.
#[derive(Debug)]
struct Links<'a> {
    lab: &'a Lab,
    pairs: &'static [&'static str],
}

impl Drop for Links<'_> {
    fn drop(&mut self) {
        for pair in self.pairs {
            let _ = self.lab.ip(&format!("link del {pair}0")); // absent if it was never made
        }
    }
}

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
    use crate::suite::names;

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
