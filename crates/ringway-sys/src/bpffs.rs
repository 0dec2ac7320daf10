//! Pinned eBPF objects: files of the BPF file system, with owner and mode.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use libbpf_sys as bpf;

use super::bpf::check;
use super::dirs::{self, c_path};

/// Pins a map, program or link at `path`, which must not exist.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: a NUL-terminated path.
    check(unsafe { bpf::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) }).map(drop)
}

/// The same for a user and a group, with just this mode.
pub fn pin_for(object: BorrowedFd<'_>, path: &Path, owner: (u32, u32), mode: u32) -> io::Result<()> {
    pin(object, path)?;
    dirs::give(path, owner, mode)
}

/// Opens a pinned object; maps for reading only if `write` is not set.
pub fn get(path: &Path, write: bool) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let opts = bpf::bpf_obj_get_opts {
        sz: size_of::<bpf::bpf_obj_get_opts>() as _,
        file_flags: if write { 0 } else { bpf::BPF_F_RDONLY },
        ..Default::default()
    };
    // SAFETY: a NUL-terminated path; `opts` lives across the call and carries its size.
    let fd = check(unsafe { bpf::bpf_obj_get_opts(path.as_ptr(), &opts) })?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether `dir` lies in a BPF file system.
pub fn is_bpffs(dir: &Path) -> io::Result<bool> {
    let dir = File::open(dir)?;
    // SAFETY: all zero is a valid value of this plain struct.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor and a struct to fill.
    super::fd::check(unsafe { libc::fstatfs(dir.as_raw_fd(), &mut stat) })?;
    Ok(stat.f_type as i64 == BPF_FS_MAGIC)
}

/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

/// Mounts a BPF file system at `dir`, where everybody may look up names.
pub fn mount(dir: &Path) -> io::Result<()> {
    let dir = c_path(dir)?;
    let (kind, data) = (c"bpf".as_ptr(), c"mode=0755".as_ptr().cast());
    // SAFETY: all pointers are to NUL-terminated strings that live across the call.
    super::fd::check(unsafe { libc::mount(kind, dir.as_ptr(), kind, 0, data) }).map(drop)
}
