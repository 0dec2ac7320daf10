//! Finding a switch or a router.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::layout::{Shape, info};
use super::name::check_router_name;
use super::pins::{check_root, root};
use super::spec::shape_of;
use super::{objects, pins, trust};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::is_switch;
use crate::sys::bpf;
use crate::sys::mmap::Mmap;

/// The shape of the switch that lies in `dir`, for those who may only read it.
pub(crate) fn read_shape(dir: &Path, name: &str) -> Result<Shape> {
    let io = |e| Error::io(name, "reading the shape of the switch failed", e);
    let fd = objects::open_pin(&dir.join("info"), false, name)?;
    let mut bytes = [0u8; info::SIZE];
    bpf::lookup(fd.as_fd(), 0, &mut bytes).map_err(io)?;
    let copy = Mmap::anonymous(bytes.len()).map_err(io)?;
    copy.write(0, &bytes);
    shape_of(&copy, name)
}

/// The refusal of a switch or router that is not there.
pub(crate) fn missing(name: &str) -> Error {
    let what = format!("there is no such switch or router in {}", root().display());
    if pins::are_hidden() {
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

/// The directory of the switch or router of that name, which nobody but root can change.
pub(crate) fn find(name: &str) -> Result<PathBuf> {
    check_router_name(name)?;
    check_root()?;
    let dir = pins::switch(name);
    match fs::symlink_metadata(&dir) {
        Ok(is) if is.is_dir() => {
            trust::check_dir(&dir)?;
            match trust::check_dir(&pins::ports(&dir)) {
                Err(e) if e.kind() == ErrorKind::NotFound => Ok(dir), // a router has no ports
                checked => checked.map(|()| dir),
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(name, format!("looking into {} failed", root().display()), e)
                .cure_if_denied("run as root"))
        }
        _ => Err(missing(name)),
    }
}
