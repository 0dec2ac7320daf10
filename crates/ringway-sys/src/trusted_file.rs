//! Files whose bytes run with the process' rights: opened where nobody but root and the process' user can change them.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::{Error, ErrorKind, Result};
use super::{at, dirs, effective_user};

/// Opens the file `name` of a directory, when root or the process' user owns the file and every directory that leads to it, and nobody else
/// may write to them. Above the last directory a sticky bit is enough, as `/tmp` has it. Links to the directory are followed
/// before all this, a link instead of the file is not. `on` is what the error is on.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is no such file; [`ErrorKind::Denied`] when somebody else could change it.
pub fn open_trusted(dir: &Path, name: &str, on: &str) -> Result<(File, PathBuf)> {
    let failed = |e| Error::io(on, format!("opening {} failed", dir.join(name).display()), e);
    let dir = dir.canonicalize().map_err(failed)?;
    let path = dir.join(name);
    let opened = dirs::open(&dir).map_err(failed)?;
    let file = at::open(&opened, name.as_ref(), libc::O_RDONLY | libc::O_NONBLOCK, 0).map_err(failed)?;
    let is = file.metadata().map_err(failed)?;
    if !is.is_file() {
        let what = format!("{} is no file", path.display());
        return Err(Error::new(ErrorKind::Unfit, on, what).cure("put the library itself there"));
    }
    check_owner(&path, &is, false, on)?;
    for above in dir.ancestors() {
        let is = dirs::open(above).and_then(|d| d.metadata()).map_err(failed)?;
        check_owner(above, &is, above != dir, on)?;
    }
    Ok((file, path))
}

/// Refuses an open file or directory that users other than root and the process' user may change; with `sticky`, they may add to it. `on`
/// is what the error is on.
///
/// # Errors
/// [`ErrorKind::Denied`] when somebody else could change it.
pub fn check_owner(path: &Path, is: &Metadata, sticky: bool, on: &str) -> Result<()> {
    let refused = |what: String, cure: String| {
        let cure = format!("look at what is there, then {cure}");
        Err(Error::new(ErrorKind::Denied, on, format!("{} {what}", path.display())).cure(cure))
    };
    if is.uid() != 0 && is.uid() != effective_user() {
        let what = format!("belongs to user {}, who could change code that this process loads", is.uid());
        return refused(what, format!("`chown root {}`", path.display()));
    }
    let closed = is.mode() & 0o022 == 0 || sticky && is.mode() & 0o1000 != 0;
    if !closed {
        let what = format!("may be written by others: it has mode {:04o}", is.mode() & 0o7777);
        return refused(what, format!("`chmod go-w {}`", path.display()));
    }
    Ok(())
}

/// Whether there is nothing to open: another directory may have it.
#[must_use]
pub fn is_missing(e: &Error) -> bool {
    e.kind() == ErrorKind::NotFound
        || std::error::Error::source(e)
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|source| source.raw_os_error() == Some(libc::ENOTDIR))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// A directory that goes away with the test.
    struct Bed(PathBuf);

    impl Bed {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("ringway-trusted-{name}-{}", std::process::id()));
            dirs::make(&dir, 0o755).unwrap();
            fs::write(dir.join("lib.so"), "bytes").unwrap();
            fs::set_permissions(dir.join("lib.so"), Permissions::from_mode(0o755)).unwrap();
            Self(dir)
        }

        fn says(&self) -> String {
            let e = open_trusted(&self.0, "lib.so", "dpdk:x").unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Denied, "{e}");
            e.to_string()
        }
    }

    impl Drop for Bed {
        fn drop(&mut self) {
            let _ = dirs::remove_tree(&self.0);
        }
    }

    #[test]
    fn a_file_that_others_can_change_is_refused() {
        let bed = Bed::new("mode");
        let file = bed.0.join("lib.so");
        assert_eq!(open_trusted(&bed.0, "lib.so", "dpdk:x").unwrap().1, file.canonicalize().unwrap());
        for mode in [0o775, 0o757] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert!(bed.says().contains(&format!("lib.so may be written by others: it has mode {mode:04o}")));
        }
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        for mode in [0o777, 0o775, 0o1777] {
            fs::set_permissions(&bed.0, Permissions::from_mode(mode)).unwrap();
            assert!(bed.says().contains(&format!("it has mode {mode:04o}; look at what is there")));
        }
        fs::set_permissions(&bed.0, Permissions::from_mode(0o755)).unwrap();
        assert!(open_trusted(&bed.0, "lib.so", "dpdk:x").is_ok());
    }

    #[test]
    fn a_directory_above_that_others_can_change_is_refused() {
        let bed = Bed::new("above");
        let inner = bed.0.join("inner");
        dirs::make(&inner, 0o755).unwrap();
        fs::rename(bed.0.join("lib.so"), inner.join("lib.so")).unwrap();
        for (mode, good) in [(0o777, false), (0o1777, true), (0o755, true)] {
            fs::set_permissions(&bed.0, Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_trusted(&inner, "lib.so", "dpdk:x").is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn links_and_other_users_are_refused() {
        let bed = Bed::new("link");
        symlink("lib.so", bed.0.join("link.so")).unwrap();
        assert!(open_trusted(&bed.0, "link.so", "dpdk:x").is_err());
        for missing in
            [(bed.0.clone(), "none.so"), (bed.0.join("none"), "lib.so"), (bed.0.join("lib.so"), "x")]
        {
            assert!(is_missing(&open_trusted(&missing.0, missing.1, "dpdk:x").unwrap_err()), "{missing:?}");
        }
        if !crate::is_root() {
            eprintln!("SKIPPED: only root can give files to others");
            return;
        }
        chown(bed.0.join("lib.so"), Some(4711), None).unwrap();
        assert!(bed.says().contains("belongs to user 4711"));
        chown(bed.0.join("lib.so"), Some(0), None).unwrap();
        chown(&bed.0, Some(4711), None).unwrap();
        assert!(bed.says().contains("belongs to user 4711"));
    }
}
