//! Rights that a program gave up since it was started.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ringway::probe::capabilities;
use ringway::{Error, ErrorKind};

static AT_START: AtomicU64 = AtomicU64::new(0);

/// Notes the rights of the process. Called when the library is loaded, before any code of the program runs.
pub fn note_rights() {
    AT_START.store(capabilities(), Relaxed);
}

/// Names the cure that helps where a port does not open as the program gave its rights up before.
pub(crate) fn explained(e: Error) -> Error {
    let given_up = AT_START.load(Relaxed) & !capabilities();
    if e.kind() != ErrorKind::Denied || given_up == 0 {
        return e;
    }
    e.cure(
        "the program gave its rights up before it opened the port: have it keep them, if it has an option for that, \
         or map a port of a switch that is its user's (`ringway switch port add SWITCH:PORT --owner USER`)",
    )
}
