//! The way to a directory, step by step.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::{at, effective_user};

/// Links on a path at most, as in the kernel (path_resolution(7)).
const LINKS: u32 = 40;

/// Opens a directory step by step, after making what is missing if `make` is set. A link of another user's is refused.
pub(super) fn walk(path: &Path, make: bool) -> Result<File> {
    let failed = |e| refused(path, "opening the directory failed", e);
    let mut dir = at::root().map_err(failed)?;
    let mut ahead = parts(&std::path::absolute(path).map_err(failed)?);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            dir = at::parent(&dir).map_err(failed)?;
            continue;
        }
        let next = open_next(&dir, &name, make, path)?;
        let meta = next.metadata().map_err(failed)?;
        if !meta.is_symlink() {
            dir = next;
            continue;
        }
        check_link(&meta, &name, path)?;
        links += 1;
        if links > LINKS {
            return Err(failed(io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let target = PathBuf::from(at::read_link(&next).map_err(failed)?);
        if target.as_os_str().as_bytes().starts_with(b"/") {
            dir = at::root().map_err(failed)?;
        }
        ahead.extend(parts(&target));
    }
    at::same(&dir).map_err(failed)
}

/// Opens the entry `name` of a directory on the way to `path`, after making it if it is missing and `make` is set.
fn open_next(dir: &File, name: &OsStr, make: bool, path: &Path) -> Result<File> {
    let open = || at::open(dir, name, libc::O_PATH, 0);
    let failed = |e| refused(path, "opening the directory failed", e);
    match open() {
        Err(e) if make && e.kind() == io::ErrorKind::NotFound => match at::mkdir(dir, name, 0o700) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                Err(refused(path, "making the directory failed", e))
            }
            _ => open().map_err(failed), // or another process made it meanwhile
        },
        next => next.map_err(failed),
    }
}

/// Refuses a link on the way that neither root nor the process' user made.
fn check_link(meta: &Metadata, name: &OsStr, path: &Path) -> Result<()> {
    let owner = meta.uid();
    if owner == 0 || owner == effective_user() {
        return Ok(());
    }
    let what =
        format!("{} on the way is a symbolic link of user {owner}, which is not followed", name.display());
    Err(Error::new(ErrorKind::Denied, path.display().to_string(), what)
        .cure("name the directory itself with RINGWAY_DIR"))
}

fn refused(path: &Path, what: &str, e: io::Error) -> Error {
    let error = Error::io(path.display().to_string(), what, e);
    if error.kind() == ErrorKind::Denied {
        return error.cure("name a directory that this user may use with RINGWAY_DIR, or run as root");
    }
    error
}

/// The names of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |c: Component<'_>| match c {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}
