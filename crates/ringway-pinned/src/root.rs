//! The directory that has all switches and routers.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::trust;
use ringway_sys::bpffs;
use ringway_sys::error::{Error, ErrorKind, Result};

/// What [`set_root`] said.
static ROOT: OnceLock<PathBuf> = OnceLock::new();

/// The directory of all switches and routers: what [`set_root`] said, else `RINGWAY_BPFFS`, else `/sys/fs/bpf/ringway`.
#[must_use]
pub fn root() -> PathBuf {
    // Parts of a path that starts nowhere have no file system that could be asked for.
    named_root().map_or_else(|| "/sys/fs/bpf/ringway".into(), |dir| std::path::absolute(&dir).unwrap_or(dir))
}

/// What the program or its user said it is.
pub(super) fn named_root() -> Option<PathBuf> {
    ROOT.get().cloned().or_else(|| ringway_sys::environment::environment("RINGWAY_BPFFS").map(PathBuf::from))
}

/// Keeps switches and routers in `dir`, for this process and for good. It must lie in a BPF file system; where it does
/// not, making a switch or router fails.
///
/// # Errors
/// [`ErrorKind::Busy`] when the directory was set before.
///
/// ```
/// ringway_pinned::set_root("/run/bpf/switches")?;
/// assert_eq!(ringway_pinned::root(), std::path::Path::new("/run/bpf/switches"));
/// assert!(ringway_pinned::set_root("/run/bpf/others").is_err());
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn set_root(dir: impl Into<PathBuf>) -> Result<()> {
    ROOT.set(dir.into()).map_err(|dir| {
        Error::new(ErrorKind::Busy, dir.display().to_string(), "the directory of switches was set before")
            .cure("set it once, before the first use of a switch")
    })
}

/// Refuses a [`root`] that others than root can change. One that is not there yet is nobody's.
///
/// # Errors
/// [`ErrorKind::Unfit`], with what is wrong and the cure.
///
/// ```
/// ringway_pinned::check_root()?;
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn check_root() -> Result<()> {
    match trust::check_path(&root()) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        checked => checked,
    }
}

pub(super) fn check_bpffs(dir: &Path) -> Result<()> {
    let on = dir.display().to_string();
    match bpffs::is_bpffs(dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::new(ErrorKind::Unfit, on, "it is not in a BPF file system")
            .cure("mount one with `mount -t bpf -o mode=0755 bpf DIR`, or name another directory with RINGWAY_BPFFS")),
        Err(e) => Err(Error::io(on, "looking at the file system failed", e)),
    }
}
