//! Files by the descriptor of their directory and a name in it, which is never followed when it is a link.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::fd::check;

/// A name in a directory: no path, which could lead out of it.
fn leaf(name: &OsStr) -> io::Result<CString> {
    if matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"));
    }
    Ok(CString::new(name.as_bytes())?)
}

/// The root of all paths, to go on from.
pub(super) fn root() -> io::Result<File> {
    // SAFETY: a NUL-terminated path.
    owned(unsafe { libc::open(c"/".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) })
}

/// Opens `name`. A link is not followed: with `O_PATH` the link itself is opened, else this fails with
/// `ELOOP`.
pub(super) fn open(dir: &File, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    open_c(dir, &leaf(name)?, flags, mode)
}

/// Opens the directory above `dir`, to go on from.
pub(super) fn parent(dir: &File) -> io::Result<File> {
    open_c(dir, c"..", libc::O_PATH | libc::O_DIRECTORY, 0)
}

/// Opens `dir` again, for reading.
pub(super) fn same(dir: &File) -> io::Result<File> {
    open_c(dir, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

fn open_c(dir: &File, name: &std::ffi::CStr, flags: i32, mode: u32) -> io::Result<File> {
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: an open descriptor and a NUL-terminated name.
    owned(unsafe { libc::openat(dir.as_raw_fd(), name.as_ptr(), flags, mode) })
}

fn owned(ret: i32) -> io::Result<File> {
    let fd = check(ret)?;
    // SAFETY: the system call just made this descriptor; nobody else knows it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Makes a directory; the process' umask may take rights from `mode`.
pub(super) fn mkdir(dir: &File, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = leaf(name)?;
    // SAFETY: an open descriptor and a NUL-terminated name.
    check(unsafe { libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), mode) }).map(drop)
}

/// Makes a FIFO.
pub(super) fn mkfifo(dir: &File, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = leaf(name)?;
    // SAFETY: an open descriptor and a NUL-terminated name.
    check(unsafe { libc::mkfifoat(dir.as_raw_fd(), name.as_ptr(), mode) }).map(drop)
}

/// Removes a file or link, or with `AT_REMOVEDIR` an empty directory.
pub(super) fn unlink(dir: &File, name: &OsStr, flags: i32) -> io::Result<()> {
    let name = leaf(name)?;
    // SAFETY: an open descriptor and a NUL-terminated name.
    check(unsafe { libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), flags) }).map(drop)
}

/// Gives a file another name in its directory, in place of what has that name.
pub(super) fn rename(dir: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, fd) = (leaf(from)?, leaf(to)?, dir.as_raw_fd());
    // SAFETY: an open descriptor and NUL-terminated names.
    check(unsafe { libc::renameat(fd, from.as_ptr(), fd, to.as_ptr()) }).map(drop)
}

/// Where a link leads that was opened with `O_PATH`.
pub(super) fn read_link(link: &File) -> io::Result<OsString> {
    let mut target = vec![0u8; libc::PATH_MAX as usize];
    let (to, len) = (target.as_mut_ptr().cast(), target.len());
    // SAFETY: the kernel writes at most `len` bytes to the vector; the empty path names the descriptor.
    let n = unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), to, len) };
    target.truncate(usize::try_from(n).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_a_directory_is_no_name() {
        let root = root().unwrap();
        for name in ["", ".", "..", "a/b", "/etc", "a\0b"] {
            let refused = open(&root, OsStr::new(name), libc::O_PATH, 0).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        assert!(open(&root, OsStr::new("proc"), libc::O_PATH, 0).is_ok());
    }
}
