//! Directories that are closed to others.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::access::check_access;
use crate::error::{Error, Result};

/// Makes a directory with mode 0700 in one that nobody else can change; one that is there must be the user's,
/// and gets that mode.
///
/// # Errors
/// [`ErrorKind::Denied`](crate::ErrorKind::Denied) when it is another user's; what the system says.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("ringway-close-doc-{}", std::process::id()));
/// ringway_sys::private_dir::make_closed_dir(&path)?;
/// use std::os::unix::fs::PermissionsExt;
/// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o700);
/// # std::fs::remove_dir(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn make_closed_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let io = |what: &str, e| Error::io(path.display().to_string(), what, e).cure_if_denied("run as root");
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io("making the directory failed", e));
        }
        _ => {}
    }
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
    let dir =
        File::options().read(true).custom_flags(flags).open(path).map_err(|e| io("opening it failed", e))?;
    let meta = dir.metadata().map_err(|e| io("looking at it failed", e))?;
    check_access(path, "directory", &meta, 0).map_err(|e| e.cure("remove it"))?;
    if meta.mode() & 0o7777 != 0o700 {
        dir.set_permissions(Permissions::from_mode(0o700))
            .map_err(|e| io("closing it to others failed", e))?;
    }
    Ok(())
}
