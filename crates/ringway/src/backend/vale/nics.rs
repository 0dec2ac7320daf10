//! What a sender at a switch does for NICs: runs their `out` programs, which send the frames that wait in the NICs' rings.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::nic::LOOK_NS;
use crate::sys::{bpf, time};
use ringway_switch::{objects, pins};

/// Instead of a port's number: all NICs. `FLOOD` of bpf/switch/state.h.
const ALL: u32 = 255;

/// Length of the frames passed in, which the program replaces.
const FRAME_IN: u32 = 64;

/// Runs that a signal may cut short before the rest is left to the next sync.
const TRIES: u32 = 100;

/// An `out` program.
#[derive(Debug, Clone)]
pub(super) struct Out {
    pub(super) port: u32,
    /// The interface whose stack it serves; `None`: it sends to a wire.
    pub(super) host: Option<u32>,
    pub(super) program: Arc<OwnedFd>,
    /// When it was opened or looked for last, monotonic ns: a NIC may go and another take its number.
    looked_ns: u64,
}

impl Out {
    /// One that another process opened.
    pub(super) fn inherit(port: u32, host: Option<u32>, program: OwnedFd) -> Self {
        Self { port, host, program: Arc::new(program), looked_ns: time::monotonic_ns() }
    }
}

/// The `out` programs that a port of a switch may run. The port opens the ones that are there when
/// it is opened itself, for its owner may give rights up later. It opens others when it needs them.
#[derive(Debug, Clone)]
pub(super) struct NicTransmitters {
    name: String,
    dir: PathBuf,
    open: Vec<Out>,
}

impl NicTransmitters {
    /// For the port `name` whose directory is `dir`, with programs that another process opened.
    pub(super) fn inherit(name: &str, dir: &Path, open: Vec<Out>) -> Self {
        Self { name: name.to_owned(), dir: pins::nics(dir), open }
    }

    /// The programs that are open.
    pub(super) fn into_open(self) -> Vec<Out> {
        self.open
    }

    /// For the port `name` whose directory is `dir`.
    pub(super) fn new(name: &str, dir: &Path) -> Self {
        let mut nics = Self::inherit(name, dir, Vec::new());
        let ports: Vec<_> = nics.there().into_iter().map(|(port, ..)| port).collect();
        nics.find_all(&ports);
        nics
    }

    /// They were replaced: opens the programs that took their places, so that the kernel can free the old ones.
    pub(super) fn reopen(&mut self) {
        self.open.iter_mut().for_each(|o| o.looked_ns = 0);
        let ports: Vec<_> = self.open.iter().map(|o| o.port).collect();
        self.find_all(&ports);
    }

    fn find_all(&mut self, ports: &[u32]) {
        for &port in ports {
            // A sender to that NIC learns why it fails.
            let _ = self.find(port);
        }
    }

    /// Sends up to `frames` frames that wait for the NIC with port number `port`, or for each one.
    pub(super) fn send(&mut self, port: u32, frames: u32) -> Result<()> {
        if port != ALL {
            return self.send_one(port, frames);
        }
        let ports: Vec<u32> = self.there().into_iter().map(|(p, ..)| p).collect();
        ports.into_iter().try_for_each(|p| self.send_one(p, frames))
    }

    /// Port, interface of a host's side, and file of each program.
    fn there(&self) -> Vec<(u32, Option<u32>, PathBuf)> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let parse = |f: fs::DirEntry| {
            let (port, host) = pins::parse_out(f.file_name().to_str()?)?;
            Some((port, host, f.path()))
        };
        files.filter_map(parse).collect()
    }

    /// Place in `open` of the program of a port; `None`: it was deleted, and its ring with it.
    fn find(&mut self, port: u32) -> Result<Option<usize>> {
        let now = time::monotonic_ns();
        let known = self.open.iter().position(|o| o.port == port);
        if let Some(at) = known.filter(|&at| now.saturating_sub(self.open[at].looked_ns) < LOOK_NS) {
            return Ok(Some(at));
        }
        match (self.open_out(port, now), known) {
            (Ok(Some(out)), Some(at)) => self.open[at] = out,
            (Ok(Some(out)), None) => self.open.push(out),
            (Ok(None), known) => known.into_iter().for_each(|at| _ = self.open.remove(at)),
            // The process has given rights up since; what it has goes on.
            (Err(e), Some(at)) if e.kind() == ErrorKind::Denied => self.open[at].looked_ns = now,
            (Err(e), _) => return Err(e),
        }
        Ok(self.open.iter().position(|o| o.port == port))
    }

    fn open_out(&self, port: u32, now: u64) -> Result<Option<Out>> {
        let Some((port, host, file)) = self.there().into_iter().find(|(p, ..)| *p == port) else {
            return Ok(None);
        };
        match objects::open_pin(&file, true, &self.name) {
            Ok(program) => Ok(Some(Out { port, host, program: Arc::new(program), looked_ns: now })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn send_one(&mut self, port: u32, frames: u32) -> Result<()> {
        let Some(at) = self.find(port)? else { return Ok(()) };
        let out = &self.open[at];
        let run = |at| bpf::run_live(out.program.as_fd(), FRAME_IN, frames.max(1), at);
        for _ in 0..TRIES {
            let ran = match (run(out.host), out.host) {
                // The interface is down, and the frames wait; or it is gone, which the program finds out for itself.
                (Err(_), Some(_)) => run(None),
                (ran, _) => ran,
            };
            let ran = ran.map_err(|e| {
                Error::io(&self.name, format!("sending to the interface at port {port} failed"), e)
                    .cure("`ringway switch list` shows the port; delete it and add the interface again")
            })?;
            if ran {
                break;
            }
        }
        Ok(())
    }
}
