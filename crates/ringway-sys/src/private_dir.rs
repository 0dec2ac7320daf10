//! Directories that one user alone can change. Nobody else can plant a file, or a link to one, in them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::{at, effective_user};
use crate::error::{Error, ErrorKind, Result};

/// Rights of group and others to write.
const OTHERS_WRITE: u32 = 0o022;

/// Links on a path at most, as in the kernel (path_resolution(7)).
const LINKS: u32 = 40;

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
    /// As [`open`](Self::open); a link is refused, whoever made it.
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

    /// Writes a file as a whole: it has all of these bytes or those of before, also when the process is
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

/// Makes a directory with mode 0700 in one that nobody else can change; one that is there must be the user's,
/// and gets that mode.
///
/// # Errors
/// [`ErrorKind::Denied`] when it is another user's; what the system says.
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
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
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

fn link_refused(path: &Path) -> Error {
    Error::new(ErrorKind::Denied, path.display().to_string(), "it is a symbolic link, which is not followed")
}

/// Refuses what is another user's, or has a right of `forbidden`.
fn check_access(path: &Path, kind: &str, meta: &Metadata, forbidden: u32) -> Result<()> {
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

fn cure_of_access(path: &Path, meta: &Metadata) -> String {
    let other = "name a directory of this user's with RINGWAY_DIR";
    match meta.uid() == effective_user() {
        true => format!("`chmod go-w {}`, or {other}", path.display()),
        false => other.to_owned(),
    }
}

/// Opens a directory step by step. A link of another user's is refused.
fn walk(path: &Path, make: bool) -> Result<File> {
    let io = |what: &str, e: io::Error| {
        let error = Error::io(path.display().to_string(), what, e);
        if error.kind() == ErrorKind::Denied {
            return error.cure("name a directory that this user may use with RINGWAY_DIR, or run as root");
        }
        error
    };
    let failed = |e| io("opening the directory failed", e);
    let mut dir = at::root().map_err(failed)?;
    let mut ahead = parts(&std::path::absolute(path).map_err(failed)?);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            dir = at::parent(&dir).map_err(failed)?;
            continue;
        }
        let next = match at::open(&dir, &name, libc::O_PATH, 0) {
            Err(e) if make && e.kind() == io::ErrorKind::NotFound => {
                match at::mkdir(&dir, &name, 0o700) {
                    Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(io("making the directory failed", e));
                    }
                    _ => at::open(&dir, &name, libc::O_PATH, 0), // or another process made it meanwhile
                }
            }
            next => next,
        }
        .map_err(failed)?;
        let meta = next.metadata().map_err(failed)?;
        if !meta.is_symlink() {
            dir = next;
            continue;
        }
        let owner = meta.uid();
        if owner != 0 && owner != effective_user() {
            let what = format!(
                "{} on the way is a symbolic link of user {owner}, which is not followed",
                name.display()
            );
            return Err(Error::new(ErrorKind::Denied, path.display().to_string(), what)
                .cure("name the directory itself with RINGWAY_DIR"));
        }
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

/// The names of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |c: Component<'_>| match c {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests;
