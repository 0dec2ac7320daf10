//! Directories that come and go whole, whenever a process is killed.
//!
//! A name that starts with `~` is being made or removed by the process that holds the lock beside it. Without a holder, a
//! process was killed there, and the next holder removes what it left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::name::check_router_name;
use super::root::{check_root, root};
use ringway_sys::dir_lock::DirLock;
use ringway_sys::dirs;
use ringway_sys::error::{Error, ErrorKind, Result};

/// A directory to lock, which root alone may open: who may use a port only must not keep root from changing the switch.
pub const LOCK: &str = "lock";

/// Makes the lock in a directory, unless it is there.
pub fn make_lock(dir: &Path) -> io::Result<()> {
    match dirs::make(&dir.join(LOCK), 0o700) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

/// Waits for the lock in the directory of all switches.
pub fn lock_root(root: &Path) -> io::Result<Option<DirLock>> {
    make_lock(root)?;
    DirLock::take(&root.join(LOCK), true)
}

/// Removes what processes that were killed left half made or half removed; the caller holds the lock in `dir`.
pub fn clean(dir: &Path) {
    let left = fs::read_dir(dir).into_iter().flatten().flatten();
    let left = left.filter(|e| e.file_name().as_encoded_bytes().starts_with(b"~"));
    left.for_each(|e| _ = dirs::remove_tree(&e.path())); // what stays hides nothing, and the next one tries again
}

/// Takes a directory out of sight, then removes it with all that is in it: its name is free also when the latter fails.
///
/// # Errors
/// What the system says. The rest stays under a name that starts with `~`, until somebody removes it ([`clean`]).
pub fn discard(dir: &Path) -> io::Result<()> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let unused =
        (0..).map(|i| dir.with_file_name(format!("~{i}-{name}"))).find(|p| p.symlink_metadata().is_err());
    let aside = unused.unwrap_or_else(|| dir.to_owned());
    match fs::rename(dir, &aside) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(()) => dirs::remove_tree(&aside),
    }
}

/// Removes what a process left of a switch or router that was killed while it made or removed it; whether there was anything. What is
/// being made or removed now is waited for, and is no such thing.
///
/// # Errors
/// [`ErrorKind::BadName`]; [`ErrorKind::Denied`] without privilege.
///
/// ```no_run
/// if ringway_pinned::clear("vale0")? {
///     println!("a process was killed here");
/// }
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn clear(name: &str) -> Result<bool> {
    check_router_name(name)?;
    check_root()?;
    let (root, left) = (root(), root().join(format!("~{name}")));
    if !left.exists() {
        return Ok(false);
    }
    let failed = |e| Error::io(name, "removing what was left of it failed", e).cure_if_denied("run as root");
    let _alone = lock_root(&root).map_err(failed)?;
    let stays = left.exists();
    dirs::remove_tree(&left).map_err(failed)?;
    clean(&root);
    Ok(stays)
}

/// Has `fill` make the directory of `name` under another name, then gives it its own; the caller holds the lock in `root`.
pub fn make_whole(root: &Path, name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    clean(root);
    let (making, dir) = (root.join(format!("~{name}")), root.join(name));
    let made = fill(&making).and_then(|()| {
        // On a directory that is not empty, as that of a switch is, rename fails.
        fs::rename(&making, &dir).map_err(|e| match e.raw_os_error() {
            Some(libc::ENOTEMPTY | libc::EEXIST) => {
                Error::new(ErrorKind::Busy, name, "there is a switch or router of that name").cure(format!(
                    "`ringway switch del {name}` removes a switch, `ringway router del {name}` a router"
                ))
            }
            _ => Error::io(name, format!("making {} failed", dir.display()), e),
        })
    });
    match made {
        Ok(()) => Ok(dir),
        Err(e) => {
            let _ = dirs::remove_tree(&making); // the next one cleans up
            Err(e)
        }
    }
}
