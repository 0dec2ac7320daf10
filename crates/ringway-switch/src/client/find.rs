//! Finding a switch.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::layout::info;
use crate::shape::Shape;
use crate::{objects, pins};
use ringway_pinned::{self as pinned, trust};
use ringway_sys::bpf;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::mmap::Mmap;

/// The directory of the switch of that name, which nobody but root can change; also of a router, which has no ports.
pub fn find(name: &str) -> Result<PathBuf> {
    let dir = pinned::find(name)?;
    match trust::check_dir(&pins::ports(&dir)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(dir),
        checked => checked.map(|()| dir),
    }
}

/// The shape of the switch that lies in `dir`, for those who may only read it.
pub fn read_shape(dir: &Path, name: &str) -> Result<Shape> {
    let io = |e| Error::io(name, "reading the shape of the switch failed", e);
    let fd = objects::open_pin(&dir.join("info"), false, name)?;
    let mut bytes = [0u8; info::SIZE];
    bpf::lookup(fd.as_fd(), 0, &mut bytes).map_err(io)?;
    let copy = Mmap::anonymous(bytes.len()).map_err(io)?;
    copy.write(0, &bytes);
    Shape::of_info(&copy, name)
}
