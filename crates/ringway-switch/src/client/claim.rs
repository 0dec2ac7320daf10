//! The right to use a port: one process has it at a time.

use std::path::Path;
use std::time::Duration;

use crate::pins;
use ringway_count::freed_by;
use ringway_sys::dir_lock::DirLock;
use ringway_sys::error::{Error, ErrorKind, Result};

/// Who only looks whether a port is in use, or is being started by who had it, has its lock for less than this.
const PROBE: Duration = Duration::from_millis(500);

/// Takes the port in a directory for this process.
pub fn claim(dir: &Path, on: &str) -> Result<DirLock> {
    let lock = pins::in_use(dir);
    match DirLock::take_soon(&lock, PROBE) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => {
            let cure = match DirLock::holder(&lock) {
                Some(pid) => freed_by(pid),
                None => "end that process, or open another port".into(),
            };
            Err(Error::new(ErrorKind::Busy, on, user(&lock)).cure(cure))
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(on, "you may not open this port", e).cure(
                "ask its owner for access: `ringway switch port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ))
        }
        Err(e) => Err(Error::io(on, "locking the port failed", e)),
    }
}

fn user(lock: &Path) -> String {
    match DirLock::holder(lock) {
        Some(pid) => format!("busy: pid {pid} has it open"),
        None => "busy: a process has it open".into(),
    }
}
