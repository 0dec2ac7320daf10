//! Where a switch or a router is.

use std::fs;
use std::path::PathBuf;

use super::name::check_router_name;
use super::root::{check_root, root};
use super::{trust, visible};
use crate::plain::is_switch;
use ringway_sys::error::{Error, ErrorKind, Result};

/// The folder of that name, which nobody but root can change.
pub fn find(name: &str) -> Result<PathBuf> {
    check_router_name(name)?;
    check_root()?;
    let dir = root().join(name);
    match fs::symlink_metadata(&dir) {
        Ok(is) if is.is_dir() => trust::check_dir(&dir).map(|()| dir),
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(name, format!("looking into {} failed", root().display()), e)
                .cure_if_denied("run as root"))
        }
        _ => Err(missing(name)),
    }
}

/// The refusal of a switch or router that is not there.
pub fn missing(name: &str) -> Error {
    let what = format!("there is no such switch or router in {}", root().display());
    if visible::are_hidden() {
        return Error::new(ErrorKind::NotFound, name, what).cure(
            "`ip netns exec` hides those there are: use `--netns NAME` in place of `ip netns exec NAME`",
        );
    }
    let router = format!("`ringway router add {name}`");
    Error::new(ErrorKind::NotFound, name, what).cure(match is_switch(name) {
        true => format!(
            "`ringway switch list` and `ringway router list` show what there is, `ringway switch add {name}` makes a switch, {router} a router"
        ),
        false => format!("`ringway router list` shows what there is, {router} makes a router"),
    })
}
