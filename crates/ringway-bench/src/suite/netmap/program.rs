//! How the program on netmap's interface is started: with the library that serves it.

use crate::peers::{Peer, PeerKind};
use crate::suite::preload::library;
use crate::suite::{Fault, Sample};

/// The program in C, as a system.
pub(super) const API: &str = "netmap-api";

/// Ringway's own loops.
pub(super) const OWN: &str = "ringway";

const LIBRARY: &str = "libringway_netmap.so";

/// Slots of a ring, of the program and of Ringway's own loops.
pub(super) const SLOTS: u32 = 1024;

/// Starts the program on a CPU. Unavailable when the library has not been built.
pub(super) fn start(args: &[&str], netns: Option<&str>, cpu: usize) -> Result<Peer, Fault> {
    let environment = [("LD_PRELOAD", library(LIBRARY)?), ("RINGWAY_NETMAP_SLOTS", SLOTS.to_string().into())];
    Ok(Peer::spawn_with(PeerKind::Netmap, args, netns, Some(cpu), &environment)?)
}

/// Why a system has no number: it has nothing of the kind.
pub(super) fn lacks(what: &'static str) -> impl FnMut() -> Result<Sample, Fault> {
    move || Err(Fault::Unavailable(what.into()))
}
