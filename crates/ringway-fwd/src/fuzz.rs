//! What only the targets in `fuzz/` reach: parsers that are private otherwise.
#![allow(missing_docs, reason = "no part of the library")]

use crate::control::{Event, decoded};

/// The events of a datagram from the kernel, up to the first message that makes no sense. `dump`: it is part of an answer.
pub fn events(datagram: &[u8], dump: bool) -> Vec<Event> {
    decoded(datagram, dump)
}
