//! The right to use a port of a switch.

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
    lock: DirLock,
}

impl PortClaim {
    /// Whether the port is still this process's: root may have given it to others.
    fn holds(&self) -> bool {
        self.pid == std::process::id() && self.lock.is_at(&pins::in_use(&self.dir))
    }
}

impl Drop for PortClaim {
    fn drop(&mut self) {
        if let Some((switch, port)) = self.ephemeral.as_ref().filter(|_| self.holds()) {
            switch.remove_ephemeral(port);
        }
    }
}

/// Takes the port, or makes it when the switch has none of that name and the caller may.
pub(super) fn claim_or_create_port(name: &str, switch: &str, port: &str, dir: &Path) -> Result<PortClaim> {
    let claim = |ephemeral, lock| PortClaim { ephemeral, pid: std::process::id(), dir: dir.to_owned(), lock };
    if dir.is_dir() {
        match switch::claim(dir, name) {
            Ok(lock) if lock.is_at(&pins::in_use(dir)) => {
                let ephemeral = Switch::open(switch).ok().filter(|s| s.is_ephemeral(port));
                return Ok(claim(ephemeral.map(|s| (s, port.to_owned())), lock));
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
    Ok(claim(Some((switch, port.to_owned())), lock))
}
