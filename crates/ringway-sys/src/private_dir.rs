//! Directories that one user alone can change. Nobody else can plant a file, or a link to one, in them.

mod access;
mod closed;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::at;
use crate::error::{Error, ErrorKind, Result};
use access::{OTHERS_WRITE, check_access, cure_of_access, link_refused};
pub use closed::make_closed_dir;
use walk::walk;

/// An open directory that belongs to the process' user, and in which nobody else may write.
///
/// All files are reached through the descriptor of the directory, by name, and a link is never followed. On
/// the way to the directory, links are followed that root or the process' user made. What is made has mode
/// 0700 or 0600, whatever the umask is.
///
/// ```
/// use std::io::{Read, Write};
/// # let path = std::env::temp_dir().join(format!("ringway-private-doc-{}", std::process::id()));
/// let dir = ringway_sys::private_dir::PrivateDir::make(&path)?;
/// dir.create("state")?.write_all(b"1")?;
/// dir.replace("state", b"2")?;
/// let mut text = String::new();
/// dir.open_file("state")?.read_to_string(&mut text)?;
/// assert_eq!(text, "2");
/// dir.remove("state")?;
/// # std::fs::remove_dir(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrivateDir {
    dir: File,
    path: PathBuf,
}

impl PrivateDir {
    /// Opens a directory.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Denied`] when it is another user's, others may write in it, or a
    /// link of another user's leads to it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::enter(path.as_ref(), false)
    }

    /// Opens a directory, after making it and those above it that are missing.
    ///
    /// # Errors
    /// As [`open`](Self::open); what the system says.
    pub fn make(path: impl AsRef<Path>) -> Result<Self> {
        Self::enter(path.as_ref(), true)
    }

    fn enter(path: &Path, make: bool) -> Result<Self> {
        let dir = walk(path, make)?;
        Self { dir, path: path.to_owned() }.checked()
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// As [`open`](Self::open); a link is refused, of any maker.
    pub fn open_dir(&self, name: &str) -> Result<Self> {
        let dir = self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY)?;
        Self { dir, path: self.path.join(name) }.checked()
    }

    /// Opens a directory in this one, after making it if it is missing.
    ///
    /// # Errors
    /// As [`open_dir`](Self::open_dir); what the system says.
    pub fn make_dir(&self, name: &str) -> Result<Self> {
        match at::mkdir(&self.dir, OsStr::new(name), 0o700) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.failed(name, "making it failed", e))
            }
            _ => self.open_dir(name),
        }
    }

    fn checked(self) -> Result<Self> {
        let io = |e| Error::io(self.path.display().to_string(), "looking at the directory failed", e);
        let meta = self.dir.metadata().map_err(io)?;
        check_access(&self.path, "directory", &meta, OTHERS_WRITE)
            .map_err(|e| e.cure(cure_of_access(&self.path, &meta)))?;
        Ok(self)
    }

    /// Where it is, for messages and for programs that need a path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of what is in it, in no order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().into_string().ok()).collect()
    }

    /// Makes a file, for reading and writing.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is something of that name; what the system says.
    pub fn create(&self, name: &str) -> Result<File> {
        self.file(name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)
    }

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Denied`] for a link, for what is no file, and for a file of
    /// another user's or that others may write.
    pub fn open_file(&self, name: &str) -> Result<File> {
        self.file(name, libc::O_RDWR)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file).
    pub fn read_file(&self, name: &str) -> Result<File> {
        self.file(name, libc::O_RDONLY)
    }

    /// Opens a file for reading and writing, after making it if it is missing.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file), but that it is missing.
    pub fn open_or_create(&self, name: &str) -> Result<File> {
        self.file(name, libc::O_RDWR | libc::O_CREAT)
    }

    /// Opens a file to write at its end, after making it if it is missing.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file), but that it is missing.
    pub fn append(&self, name: &str) -> Result<File> {
        self.file(name, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND)
    }

    fn file(&self, name: &str, flags: i32) -> Result<File> {
        // What is no file, a FIFO for example, must not make the process wait.
        let file = self.open_at(name, flags | libc::O_NONBLOCK)?;
        self.check_entry(name, &file, |meta| meta.is_file())?;
        Ok(file)
    }

    /// Opens a FIFO for both ends, so that it never blocks and never ends, after making it if it is missing.
    pub fn fifo(&self, name: &str) -> Result<File> {
        match at::mkfifo(&self.dir, OsStr::new(name), 0o600) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(self.failed(name, "making the FIFO failed", e));
            }
            _ => {}
        }
        let fifo = self.open_at(name, libc::O_RDWR | libc::O_NONBLOCK)?;
        self.check_entry(name, &fifo, |meta| meta.file_type().is_fifo())?;
        Ok(fifo)
    }

    /// Writes a file as a whole: it has all of these bytes or all of its old ones, also when the process is
    /// killed. Then `NAME.new` may stay.
    ///
    /// # Errors
    /// What the system says.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let new = format!("{name}.new");
        self.remove(&new)?; // of one that was killed
        let wrote = self.create(&new)?.write_all(bytes);
        wrote
            .and_then(|()| at::rename(&self.dir, OsStr::new(&new), OsStr::new(name)))
            .map_err(|e| self.failed(name, "writing it failed", e))
    }

    /// Removes a file, or a link itself. What is not there is gone already.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(name, 0)
    }

    /// Removes a directory in this one with the files in it, but not what has further directories.
    pub fn remove_dir(&self, name: &str) -> Result<()> {
        let dir = match self.open_dir(name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            dir => dir?,
        };
        dir.names().iter().try_for_each(|file| dir.remove(file))?;
        self.unlink(name, libc::AT_REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: i32) -> Result<()> {
        match at::unlink(&self.dir, OsStr::new(name), flags) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed(name, "removing it failed", e)),
            _ => Ok(()),
        }
    }

    fn open_at(&self, name: &str, flags: i32) -> Result<File> {
        at::open(&self.dir, OsStr::new(name), flags, 0o600).map_err(|e| match e.raw_os_error() {
            Some(libc::ELOOP) => link_refused(&self.path.join(name)).cure("remove it"),
            Some(libc::ENOTDIR) => {
                Error::new(ErrorKind::Denied, self.on(name), "it is no directory").cure("remove it")
            }
            _ => self.failed(name, "opening it failed", e),
        })
    }

    fn check_entry(&self, name: &str, file: &File, is: impl Fn(&Metadata) -> bool) -> Result<()> {
        let meta = file.metadata().map_err(|e| self.failed(name, "looking at it failed", e))?;
        if !is(&meta) {
            let what = "something else has the name of this file";
            return Err(Error::new(ErrorKind::Denied, self.on(name), what).cure("remove it"));
        }
        check_access(&self.path.join(name), "file", &meta, OTHERS_WRITE).map_err(|e| e.cure("remove it"))
    }

    fn on(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn failed(&self, name: &str, what: &str, e: io::Error) -> Error {
        Error::io(self.on(name), what, e)
    }
}

impl AsFd for PrivateDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.dir.as_fd()
    }
}
