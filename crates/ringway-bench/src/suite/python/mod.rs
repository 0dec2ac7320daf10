//! The suite `python`: the Python module beside scapy, a module of libpcap, plain sockets, and a module of route lookup.
//!
//! | case | what | counted |
//! | --- | --- | --- |
//! | `receive` | receive a flood on a veth | by the receiver |
//! | `send` | send on a veth | by an eBPF sink at the far end |
//! | `lookups` | 1,048,576 look-ups of IPv4 and of IPv6 in a whole table | by the script's clock |
//!
//! | system | what it is |
//! | --- | --- |
//! | `ringway` | the Python module: bursts as arrays of numpy, an `ebpf:` port |
//! | `ringway-views` | the same, with a memoryview of each frame |
//! | `scapy` | `sniff` and `sendp` |
//! | `pcapy-ng`, `pcapy-ng-batch` | libpcap: a callback for each frame, and the bytes of many in one piece |
//! | `af_packet` | sockets of Python's standard library, a call for each frame |
//! | `pytricia` | a trie of prefixes in C, a call for each address |
//! | `rust` | the same look-up in Rust, in bursts of 64 |
//!
//! Senders run on CPU 0, all else on CPU 1, as in suites `io` and `fib`. Each run is a process of Python of its own.
//! Systems whose modules are not installed are left out by name, with the cure.

mod bars;
mod links;
mod scripts;

pub use bars::bars;
pub(in crate::suite) use scripts::Shared;

use super::fib::{self, Source};
use super::{Bed, Case};

/// All cases of the suite, in the order in which they are run.
pub fn cases<'a>(bed: Bed<'a>, source: &Source) -> Vec<Case<'a>> {
    let scripts = Shared::new();
    let mut cases = vec![links::receive(bed, &scripts), links::send(bed, &scripts)];
    cases.extend(fib::from_python(bed, source, &scripts));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::names;
    use ringway_engine::Signals;
    use ringway_lab::LabError;

    #[test]
    fn cases_and_systems_have_their_names() {
        let (lab, signals) = (Err(LabError::NotRoot), Signals::new());
        let (cases, systems) = names(&cases(Bed::new(&lab, 0.1, &signals), &Source::default()));
        assert_eq!(cases, ["receive", "send", "lookups"]);
        let all = [
            "ringway",
            "ringway-views",
            "scapy",
            "pcapy-ng",
            "pcapy-ng-batch",
            "af_packet",
            "pytricia",
            "rust",
        ];
        assert!(all.iter().all(|name| systems.contains(name)) && systems.len() == all.len(), "{systems:?}");
    }
}
