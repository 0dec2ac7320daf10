//! The directory of all switches and routers, made with the file system that it lies in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::root::{check_bpffs, named_root, root};
use super::trust;
use super::visible::{HIDDEN, HIDDEN_CURE, is_apart};
use ringway_sys::dir_lock::DirLock;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::{bpffs, dirs};

/// Makes the directory of all switches and routers, mounting the BPF file system above it where there is nothing yet.
pub fn make_root() -> Result<PathBuf> {
    let root = root();
    if !root.is_dir() {
        let on = || root.display().to_string();
        let above = root.parent().unwrap_or(Path::new("/"));
        dirs::make_all(above, 0o755).map_err(|e| {
            Error::io(on(), "making the directory above failed", e).cure_if_denied("run as root")
        })?;
        mount_at(above)?;
        check_bpffs(above)?;
        match dirs::make(&root, 0o755) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists || !root.is_dir() => {
                return Err(Error::io(on(), "making the directory failed", e).cure_if_denied("run as root"));
            }
            _ => {} // or another one made it meanwhile
        }
    }
    check_bpffs(&root)?;
    trust::check_path(&root)?;
    Ok(root)
}

/// Mounts the BPF file system at an empty directory where it is not mounted yet.
fn mount_at(dir: &Path) -> Result<()> {
    // Two that make it at once would mount twice: one after the other, but no stranger's lock holds anybody up for long.
    let _alone = DirLock::take_soon(dir, Duration::from_secs(1));
    // A mount would hide what lies there.
    let bare = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if !bare || bpffs::is_bpffs(dir).unwrap_or(false) {
        return Ok(());
    }
    let on = || root().display().to_string();
    if named_root().is_none() && is_apart() {
        return Err(Error::new(ErrorKind::Unsupported, on(), HIDDEN).cure(HIDDEN_CURE));
    }
    bpffs::mount(dir).map_err(|e| {
        Error::io(on(), format!("mounting the BPF file system at {} failed", dir.display()), e)
            .cure("run as root, or name a mounted one with RINGWAY_BPFFS")
    })
}
