//! The right to use a port of a switch.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::sys::dir_lock::DirLock;
use ringway_switch::{self as switch, Switch, pins};

/// The right to use the port, held until the last ring is dropped.
#[derive(Debug)]
pub(super) struct PortClaim {
    ephemeral: Option<(Switch, String)>,
    /// Process that has the port: a fork that lets its copy go changes nothing.
    pid: u32,
    /// Directory of the port.
    dir: PathBuf,
    /// `None` while it goes.
    lock: Option<DirLock>,
}

impl PortClaim {
    /// A descriptor by which another process has the port as well.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.lock.as_ref().ok_or(io::ErrorKind::NotFound)?.share()
    }

    /// The right that another process shared.
    pub(super) fn inherit(name: &str, switch: &str, port: &str, dir: &Path, lock: OwnedFd) -> Result<Self> {
        let lock = DirLock::inherit(lock)
            .map_err(|e| Error::io(name, "the descriptor does not hold the lock of the port", e))?;
        Ok(Self::new(ephemeral(switch, port), dir, lock))
    }

    fn new(ephemeral: Option<(Switch, String)>, dir: &Path, lock: DirLock) -> Self {
        Self { ephemeral, pid: std::process::id(), dir: dir.to_owned(), lock: Some(lock) }
    }

    /// Whether the port is this process's when it lets its claim go. Of several processes only the last one gets the lock back.
    fn holds(&mut self) -> bool {
        let place = pins::in_use(&self.dir);
        match self.lock.take_if(|lock| lock.is_shared()) {
            // Root may have given the port to others.
            Some(lock) if !lock.is_at(&place) => false,
            Some(lock) => {
                drop(lock);
                self.lock = DirLock::take(&place, false).ok().flatten();
                self.lock.as_ref().is_some_and(|lock| lock.is_at(&place))
            }
            None => {
                self.pid == std::process::id() && self.lock.as_ref().is_some_and(|lock| lock.is_at(&place))
            }
        }
    }
}

impl Drop for PortClaim {
    fn drop(&mut self) {
        if self.ephemeral.is_none() || !self.holds() {
            return;
        }
        if let Some((switch, port)) = &self.ephemeral {
            switch.remove_ephemeral(port);
        }
    }
}

/// What removes the port with its last user, if that is to be, and this process may.
fn ephemeral(switch: &str, port: &str) -> Option<(Switch, String)> {
    let switch = Switch::open(switch).ok().filter(|s| s.is_ephemeral(port))?;
    Some((switch, port.to_owned()))
}

/// Takes the port, or makes it when the switch has none of that name and the caller may.
pub(super) fn claim_or_create_port(name: &str, switch: &str, port: &str, dir: &Path) -> Result<PortClaim> {
    if dir.is_dir() {
        match switch::claim(dir, name) {
            Ok(lock) if lock.is_at(&pins::in_use(dir)) => {
                return Ok(PortClaim::new(ephemeral(switch, port), dir, lock));
            }
            // Its last user just removed it.
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    let made = Switch::open(switch).and_then(|s| Ok((s.add_ephemeral(port)?, s)));
    let (lock, switch) = made.map_err(|e| match e.kind() {
        ErrorKind::Denied => {
            Error::new(ErrorKind::NotFound, name, "there is no such port, and you may not make one")
                .cure(format!("have root make it: `ringway switch port add {name} --owner USER`"))
        }
        _ => e,
    })?;
    Ok(PortClaim::new(Some((switch, port.to_owned())), dir, lock))
}
