//! Directories that other users may attack: opened without following links, looked at by descriptor, removed whatever lies in them.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::fd::check;

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Opens a directory, with no symbolic link anywhere on the way (openat2(2), `RESOLVE_NO_SYMLINKS`). `ELOOP` where there is one.
pub fn open(path: &Path) -> io::Result<File> {
    // SAFETY: plain numbers; all zero is a valid value.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    let path = c_path(path)?;
    // SAFETY: a NUL-terminated path and a struct that carries its size; both live across the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    let fd = check(fd as i32)?;
    // SAFETY: the call just made this descriptor.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Makes a directory with just this mode, whatever the umask. One that exists stays as it is: `AlreadyExists`.
pub fn make(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    set_mode(&open_entry(path)?, mode)
}

/// The same for all that is missing above it too.
pub fn make_all(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        make_all(above, mode)?;
    }
    match make(path, mode) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()), // another process was faster
        made => made,
    }
}

/// Gives a file or directory to a user and a group, with just this mode. A symbolic link is refused, not followed.
///
/// The owner of a file may change its mode: the new owner comes last.
pub fn give(path: &Path, (uid, gid): (u32, u32), mode: u32) -> io::Result<()> {
    let entry = open_entry(path)?;
    if entry.metadata()?.is_symlink() {
        return Err(io::Error::from_raw_os_error(libc::ELOOP));
    }
    set_mode(&entry, mode)?;
    own(&entry, uid, gid)
}

/// A descriptor that names an entry, which may be a link, and gives no access to it.
fn open_entry(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)
}

/// Such descriptors take no fchmod(2); their names in /proc lead to the very entry (fchmodat2(2) needs Linux 6.6).
fn set_mode(entry: &File, mode: u32) -> io::Result<()> {
    fs::set_permissions(format!("/proc/self/fd/{}", entry.as_raw_fd()), Permissions::from_mode(mode))
}

fn own(entry: &File, uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: an open descriptor and an empty NUL-terminated path.
    let ret = unsafe { libc::fchownat(entry.as_raw_fd(), c"".as_ptr(), uid, gid, libc::AT_EMPTY_PATH) };
    check(ret).map(drop)
}

/// Entries that [`remove_tree`] takes away at most, of a user who keeps adding some.
const ENTRIES_MAX: usize = 1 << 20;

/// Removes a directory and all that is in it; nothing to do where there is none. Links are removed, never followed.
///
/// Other users may own directories in it and fill them meanwhile: each is taken from them first. However deep they are nested, three
/// descriptors are enough: what lies in a subdirectory moves up into `path`, step by step.
///
/// # Errors
/// What the system says; `DirectoryNotEmpty` when somebody fills it faster than it is emptied.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let top = match seize(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        top => top?,
    };
    let mut moved = 0;
    for _ in 0..ENTRIES_MAX {
        let mut left = entries(&top)?.peekable();
        if left.peek().is_none() {
            break;
        }
        for name in left {
            if remove_entry(&top, &name)? {
                continue;
            }
            let sub = seize(&below(&top, &name))?;
            for inner in entries(&sub)? {
                while !remove_entry(&sub, &inner)? {
                    moved += 1;
                    if move_up(&sub, &inner, &top, &format!("{MOVED}{moved}"))? {
                        break;
                    }
                }
            }
        }
        if moved > ENTRIES_MAX {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
    }
    fs::remove_dir(path)
}

/// What directories are called that moved up, with a number behind it.
const MOVED: &str = "~moved-";

/// Opens a directory and makes it the caller's alone. Who had it open before can't add to it from here on.
fn seize(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let dir = File::options().read(true).custom_flags(flags).open(path)?;
    let is = dir.metadata()?;
    let (uid, gid) = (super::effective_user(), super::effective_group());
    if (is.uid(), is.gid()) != (uid, gid) {
        own(&dir, uid, gid)?;
    }
    if is.mode() & 0o777 != 0o700 {
        dir.set_permissions(Permissions::from_mode(0o700))?;
    }
    Ok(dir)
}

/// An entry of a directory that is open.
fn below(dir: &File, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name)
}

/// The names in a directory; removing some of them meanwhile changes nothing.
fn entries(dir: &File) -> io::Result<impl Iterator<Item = std::ffi::OsString> + use<>> {
    let names: Vec<_> = fs::read_dir(below(dir, OsStr::new("")))?.flatten().map(|e| e.file_name()).collect();
    Ok(names.into_iter())
}

/// Removes a file, a link or an empty directory; false for a directory that is not empty.
fn remove_entry(dir: &File, name: &OsStr) -> io::Result<bool> {
    let name = CString::new(name.as_bytes())?;
    match unlink(dir, &name, 0) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::EISDIR | libc::EPERM)) => {}
        done => return gone(done),
    }
    match unlink(dir, &name, libc::AT_REMOVEDIR) {
        Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        done => gone(done),
    }
}

fn gone(removed: io::Result<()>) -> io::Result<bool> {
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(true),
    }
}

fn unlink(dir: &File, name: &CStr, flags: i32) -> io::Result<()> {
    // SAFETY: an open descriptor and a NUL-terminated name.
    check(unsafe { libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), flags) }).map(drop)
}

/// Moves an entry to another directory; false when there is one of the new name.
fn move_up(from: &File, name: &OsStr, to: &File, new: &str) -> io::Result<bool> {
    let (name, new) = (CString::new(name.as_bytes())?, CString::new(new)?);
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: open descriptors and NUL-terminated names.
    let ret = unsafe { libc::renameat2(from, name.as_ptr(), to, new.as_ptr(), libc::RENAME_NOREPLACE) };
    match check(ret) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        done => done.map(|_| true),
    }
}

/// Exchanges two directories in one step (renameat2(2), `RENAME_EXCHANGE`).
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let (a, b) = (c_path(a)?, c_path(b)?);
    let at = libc::AT_FDCWD;
    // SAFETY: NUL-terminated paths that live across the call.
    check(unsafe { libc::renameat2(at, a.as_ptr(), at, b.as_ptr(), libc::RENAME_EXCHANGE) }).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory that goes away with the test.
    struct Bed(PathBuf);

    impl Bed {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("ringway-dirs-{name}-{}", std::process::id()));
            fs::create_dir(&dir).unwrap();
            Self(fs::canonicalize(dir).unwrap())
        }
    }

    impl Drop for Bed {
        fn drop(&mut self) {
            let _ = remove_tree(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_link_on_the_way_is_refused() {
        let bed = Bed::new("link");
        make_all(&bed.0.join("real/inner"), 0o755).unwrap();
        symlink("real", bed.0.join("link")).unwrap();
        assert!(open(&bed.0.join("real/inner")).is_ok());
        for path in ["link", "link/inner"] {
            assert_eq!(open(&bed.0.join(path)).unwrap_err().raw_os_error(), Some(libc::ELOOP), "{path}");
        }
    }

    #[test]
    fn modes_are_those_asked_for() {
        let bed = Bed::new("mode");
        let dir = bed.0.join("dir");
        make(&dir, 0o777).unwrap(); // more than a umask lets through
        assert_eq!(mode(&dir), 0o777);
        assert_eq!(make(&dir, 0o700).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let is = fs::metadata(&dir).unwrap();
        give(&dir, (is.uid(), is.gid()), 0o500).unwrap();
        assert_eq!(mode(&dir), 0o500);
    }

    #[test]
    fn what_a_link_leads_to_is_not_given_away() {
        let bed = Bed::new("give");
        let (file, link) = (bed.0.join("file"), bed.0.join("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        let is = fs::metadata(&file).unwrap();
        assert_eq!(give(&link, (is.uid(), is.gid()), 0o666).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_tree_is_removed_however_deep_it_is_and_links_are_not_followed() {
        let bed = Bed::new("tree");
        let (top, canary) = (bed.0.join("top"), bed.0.join("canary"));
        fs::create_dir(&canary).unwrap();
        fs::write(canary.join("file"), "stays").unwrap();
        make(&top, 0o755).unwrap();
        // Deeper than a path may be long, so each step starts at the directory before; and than a process has descriptors, mostly.
        let mut deepest = File::open(&top).unwrap();
        for i in 0..3000 {
            let at = |name: &str| below(&deepest, OsStr::new(name));
            fs::create_dir(at("sub")).unwrap();
            if i % 100 == 0 {
                fs::write(at("file"), "").unwrap();
                symlink(&canary, at("link")).unwrap();
                fs::create_dir(at("empty")).unwrap();
            }
            deepest = File::open(at("sub")).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists() && canary.join("file").exists());
        remove_tree(&top).unwrap(); // there is nothing any more
    }

    #[test]
    fn a_link_in_place_of_the_tree_is_refused() {
        let bed = Bed::new("top-link");
        fs::create_dir(bed.0.join("victim")).unwrap();
        fs::write(bed.0.join("victim/file"), "").unwrap();
        symlink("victim", bed.0.join("link")).unwrap();
        assert!(remove_tree(&bed.0.join("link")).is_err());
        assert!(bed.0.join("victim/file").exists());
    }

    #[test]
    fn two_directories_change_places() {
        let bed = Bed::new("exchange");
        let [a, b] = ["a", "b"].map(|name| bed.0.join(name));
        for dir in [&a, &b] {
            make(dir, 0o755).unwrap();
        }
        fs::write(a.join("was-a"), "").unwrap();
        exchange(&a, &b).unwrap();
        assert!(b.join("was-a").exists() && !a.join("was-a").exists());
    }
}
