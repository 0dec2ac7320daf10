//! Where processes keep what others may find.

use std::path::PathBuf;

use ringway_sys::environment::environment;
use ringway_sys::error::{ErrorKind, Result};
use ringway_sys::private_dir::PrivateDir;

/// Where Ringway keeps what processes share: `$RINGWAY_DIR`, else `/run/ringway` for root, else
/// `$XDG_RUNTIME_DIR/ringway`; `None` without either, and neither variable counts in a setuid process
/// ([`environment()`]). It need not exist. It is used only when it is the user's and nobody else may write in
/// it: [`check_run_directory`].
///
/// ```
/// assert!(ringway_count::run_directory().is_none_or(|dir| dir.file_name().is_some()));
/// ```
#[must_use]
pub fn run_directory() -> Option<PathBuf> {
    if let Some(d) = environment("RINGWAY_DIR") {
        return Some(d.into());
    }
    if ringway_sys::is_root() {
        return Some("/run/ringway".into());
    }
    Some(PathBuf::from(environment("XDG_RUNTIME_DIR")?).join("ringway"))
}

/// Looks whether the process may use [`run_directory`]. Where it may not, its ports are not listed, and it
/// sees none of others.
///
/// # Errors
/// [`ErrorKind::Denied`] when the directory is there, but is another user's, others may write in it, or a
/// link of another user's leads to it.
///
/// ```
/// if let Err(e) = ringway_count::check_run_directory() {
///     eprintln!("{e}");
/// }
/// ```
pub fn check_run_directory() -> Result<()> {
    let Some(dir) = run_directory() else { return Ok(()) };
    match PrivateDir::open(dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Makes a subdirectory of [`run_directory`]; `None` for users that have no such directory.
pub fn make_directory(name: &str) -> Option<Result<PrivateDir>> {
    run_directory().map(|dir| PrivateDir::make(dir)?.make_dir(name))
}

/// Opens a subdirectory of [`run_directory`], if the process may use it.
pub(crate) fn directory(name: &str) -> Option<PrivateDir> {
    PrivateDir::open(run_directory()?).ok()?.open_dir(name).ok()
}
