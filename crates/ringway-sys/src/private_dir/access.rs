//! Whether a file or directory is the user's alone.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::effective_user;
use crate::error::{Error, ErrorKind, Result};

/// Rights of group and others to write.
pub(super) const OTHERS_WRITE: u32 = 0o022;

pub(super) fn link_refused(path: &Path) -> Error {
    Error::new(ErrorKind::Denied, path.display().to_string(), "it is a symbolic link, which is not followed")
}

/// Refuses what is another user's, or has a right of `forbidden`.
pub(super) fn check_access(path: &Path, kind: &str, meta: &Metadata, forbidden: u32) -> Result<()> {
    let user = effective_user();
    let what = if meta.uid() != user {
        format!("the {kind} belongs to user {}, and the process runs as user {user}", meta.uid())
    } else if meta.mode() & forbidden != 0 {
        format!("others may write: the {kind} has mode {:04o}", meta.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Denied, path.display().to_string(), what))
}

pub(super) fn cure_of_access(path: &Path, meta: &Metadata) -> String {
    let other = "name a directory of this user's with RINGWAY_DIR";
    match meta.uid() == effective_user() {
        true => format!("`chmod go-w {}`, or {other}", path.display()),
        false => other.to_owned(),
    }
}
