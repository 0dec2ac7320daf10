//! Maps and other pinned objects of a switch: made, opened, mapped.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use libbpf_rs::MapHandle;

use ringway_sys::bpffs;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::libbpf::refused;
use ringway_sys::mmap::Mmap;

/// Opens a pinned map to change it.
pub(crate) fn open_map(path: &Path, on: &str) -> Result<MapHandle> {
    open_pin(path, true, on)?;
    MapHandle::from_pinned_path(path).map_err(|e| refused(on, &format!("opening {}", path.display()), &e))
}

/// Opens a pinned object.
pub fn open_pin(path: &Path, write: bool, on: &str) -> Result<OwnedFd> {
    bpffs::get(path, write).map_err(|e| {
        let code = e.raw_os_error();
        let error = Error::io(on, format!("opening {} failed", path.display()), e);
        match code {
            Some(libc::EACCES | libc::EPERM) => error.with_kind(ErrorKind::Denied).cure(
                "ask its owner for access: `ringway switch port set SWITCH:PORT --owner USER --group GROUP --mode 660`",
            ),
            Some(libc::ENOENT) => error.with_kind(ErrorKind::NotFound).cure("`ringway switch list` shows what there is"),
            _ => error,
        }
    })
}

/// Maps `len` bytes of a map's values.
pub(crate) fn map_values(map: &impl AsFd, len: usize, write: bool, on: &str) -> Result<Arc<Mmap>> {
    Mmap::shared(map.as_fd(), len.next_multiple_of(4096), 0, write)
        .map(Arc::new)
        .map_err(|e| Error::io(on, "mapping an eBPF array failed", e))
}
