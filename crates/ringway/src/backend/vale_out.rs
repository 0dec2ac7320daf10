//! What a sender at a switch does for NICs: runs their `out` programs, which send the frames that wait in the NICs' rings.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::nic::LOOK_NS;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{bpf, time};
use crate::vale::{objects, pins};

/// Instead of a port's number: all NICs. `FLOOD` of bpf/vale.h.
const ALL: u32 = 255;

/// Length of the frames passed in, which the program replaces.
const FRAME_IN: u32 = 64;

/// Runs that a signal may cut short before the rest is left to the next sync.
const TRIES: u32 = 100;

/// The `out` programs of a switch, opened when needed.
#[derive(Debug)]
pub(super) struct Outs {
    name: String,
    switch: PathBuf,
    open: Vec<(u32, OwnedFd)>,
    /// When `open` was emptied last, monotonic ns: a NIC may go and another take its number.
    since_ns: u64,
}

impl Outs {
    /// For the port `name` whose directory is `dir`.
    pub(super) fn new(name: &str, dir: &Path) -> Self {
        let switch = dir.ancestors().nth(2).unwrap_or(dir).to_owned();
        Self { name: name.to_owned(), switch, open: Vec::new(), since_ns: 0 }
    }

    /// Closes all, to open those that took their places: they were replaced.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// Sends up to `frames` frames that wait for the NIC with port number `port`, or for each one.
    pub(super) fn send(&mut self, port: u32, frames: u32) -> Result<()> {
        let now = time::monotonic_ns();
        if now.saturating_sub(self.since_ns) >= LOOK_NS {
            self.since_ns = now;
            self.open.clear();
        }
        if port != ALL {
            return self.send_one(port, frames);
        }
        let names = fs::read_dir(pins::outs(&self.switch)).into_iter().flatten().flatten();
        let ports: Vec<u32> = names.filter_map(|n| n.file_name().to_str()?.parse().ok()).collect();
        ports.into_iter().try_for_each(|p| self.send_one(p, frames))
    }

    fn send_one(&mut self, port: u32, frames: u32) -> Result<()> {
        let at = match self.open.iter().position(|(p, _)| *p == port) {
            Some(at) => at,
            None => match objects::open_pin(&pins::out(&self.switch, port), true, &self.name) {
                Ok(program) => {
                    self.open.push((port, program));
                    self.open.len() - 1
                }
                // The NIC was deleted, and its ring with it.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
                Err(e) => return Err(e),
            },
        };
        for _ in 0..TRIES {
            let ran = bpf::run_live(self.open[at].1.as_fd(), FRAME_IN, frames.max(1), None).map_err(|e| {
                Error::io(&self.name, format!("sending to the interface at port {port} failed"), e)
                    .cure("`ringway vale list` shows the port; delete it and add the interface again")
            })?;
            if ran {
                break;
            }
        }
        Ok(())
    }
}
