//! Ports that wrap another port and are ports themselves.
//!
//! `tap:` and `trace:` only look: they stand between a ring and its backend (`watch`), in the same slots and the same
//! memory, so nothing is copied or moved for them. `fault:` changes what passes, so it has rings of its own, in the
//! region of the port inside where that is possible: frames that no fault befalls change rings by an exchange of
//! buffers.

mod dice;
pub(crate) mod fault;
mod lane;
#[cfg(test)]
mod model;
pub(crate) mod tap;
#[cfg(test)]
mod tests;
pub(crate) mod trace;
mod watch;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::ring::RingView;
use crate::sys::fd;

/// Makes the file at `path`, or empties it. Refuses one that another port writes.
fn create(path: &Path, port: &str) -> Result<File> {
    let io = |what: &str, e| Error::io(port, format!("{what} {}", path.display()), e);
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|e| io("cannot create", e))?;
    if file.metadata().is_ok_and(|m| m.is_file()) {
        if !fd::lock_byte(file.as_fd(), 0, false).map_err(|e| io("cannot lock", e))? {
            let what = format!("another port writes {}", path.display());
            return Err(Error::new(ErrorKind::Busy, port, what).cure("give each port a file of its own"));
        }
        file.set_len(0).map_err(|e| io("cannot empty", e))?;
    }
    Ok(file)
}

/// How far the filled slots of a tx ring were worked through. A sync that fails may be followed by a reset of the ring
/// to where it was before, which is behind that.
#[derive(Debug)]
struct Progress {
    base: u32,
    at: u32,
}

impl Progress {
    fn new(head: u32) -> Self {
        Self { base: head, at: head }
    }

    /// Where to go on, now that the program's head is `head`.
    fn start(&mut self, ring: &RingView, head: u32) -> u32 {
        if ring.dist(self.base, head) < ring.dist(self.base, self.at) {
            self.at = head;
        }
        self.at
    }

    /// The sync succeeded: the ring does not go behind `head` any more.
    fn done(&mut self, head: u32) {
        self.base = head;
    }
}
