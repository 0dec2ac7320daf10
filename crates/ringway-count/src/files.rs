//! Files that processes share: made, found, and removed when their owner is dead.

use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::run_directory::make_directory;
use ringway_sys::private_dir::PrivateDir;
use ringway_sys::{fd, mmap::Mmap};

/// The subdirectory of the files of open ports.
pub(super) const PORTS: &str = "ports";

/// Makes a file in a subdirectory of the run directory, and maps it. It has a lock as long as it is open.
pub(super) fn shared(folder: &str, name: &str, len: usize) -> Option<(Mmap, File, String)> {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let dir = make_directory(folder)?.ok()?;
    clean(&dir);
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(48).collect();
    let listed = format!("{plain}.{}.{}", std::process::id(), SERIAL.fetch_add(1, Relaxed));
    let file = dir.create(&listed).ok()?;
    let made = fd::lock_byte(file.as_fd(), 0, false).is_ok_and(|ok| ok) && file.set_len(len as u64).is_ok();
    let mem = made.then(|| Mmap::shared(file.as_fd(), len, 0, true).ok()).flatten();
    match mem {
        Some(mem) => Some((mem, file, listed)),
        None => {
            let _ = dir.remove(&listed);
            None
        }
    }
}

/// The end of a name that [`shared`] made.
pub(super) fn serial(file: &str) -> Option<u32> {
    file.rsplit_once('.')?.1.parse().ok()
}

/// Removes the files of owners that are dead.
fn clean(dir: &PrivateDir) {
    for file in dir.names() {
        if open_alive(dir, &file).is_none() {
            let _ = dir.remove(&file);
        }
    }
}

/// Opens a file whose owner lives; `None` for one that nobody holds. A file made this instant may not be locked yet:
/// it still has length 0 and counts as alive.
pub(super) fn open_alive(dir: &PrivateDir, name: &str) -> Option<File> {
    let file = dir.open_file(name).ok()?;
    let fresh = file.metadata().is_ok_and(|m| m.len() == 0 && age_seconds(&m) < 5);
    if fresh || !fd::lock_byte(file.as_fd(), 0, false).ok()? {
        return Some(file);
    }
    None
}

fn age_seconds(m: &Metadata) -> u64 {
    m.modified().ok().and_then(|t| t.elapsed().ok()).map_or(0, |d| d.as_secs())
}
