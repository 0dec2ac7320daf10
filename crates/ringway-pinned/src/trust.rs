//! Ringway trusts directories that nobody but root can change.
//!
//! Root removes, gives away and maps what lies in the directories of switches, and finds it by name. That is safe only where no
//! other user can give a name to something else. So each directory from `/` on belongs to root, and only root may write to it.
//! Above the directory of all switches a sticky bit is enough, as `/tmp` has it: what root made there, others can neither rename
//! nor remove.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::{dirs, effective_user};

/// Cure of a directory that others can change.
const CURE: &str = "have root remove it, mount the BPF file system with `mount -t bpf -o mode=0755 bpf DIR` and make the switches again, or \
                    name a directory of root's with RINGWAY_BPFFS";

/// Refuses a directory unless nobody but root, and the caller, can change it or what leads to it.
///
/// # Errors
/// [`ErrorKind::NotFound`]; [`ErrorKind::Unfit`] for one that others can change, with what is wrong and the cure.
pub fn check_path(dir: &Path) -> Result<()> {
    check_dir(dir)?;
    for above in dir.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()) {
        let is = look_at(above)?;
        if !is_closed(&is) && is.mode() & 0o1000 == 0 {
            return Err(refused(above, &writable(&is)));
        }
    }
    Ok(())
}

/// Refuses a directory unless nobody but root, and the caller, can change what lies in it.
///
/// # Errors
/// As [`check_path`].
pub fn check_dir(dir: &Path) -> Result<()> {
    let is = look_at(dir)?;
    if is_closed(&is) { Ok(()) } else { Err(refused(dir, &writable(&is))) }
}

/// What a directory is, that belongs to root or the caller and that no symbolic link leads to.
fn look_at(dir: &Path) -> Result<Metadata> {
    let is = dirs::open(dir).and_then(|d| d.metadata()).map_err(|e| match e.raw_os_error() {
        Some(libc::ELOOP) => refused(dir, "a symbolic link leads to it")
            .cure("name the directory itself, as `realpath` shows it"),
        Some(libc::ENOTDIR) => refused(dir, "it is no directory"),
        Some(libc::EACCES) => Error::io(dir.display().to_string(), "you may not look at the directory", e)
            .cure(
                "run as root, or have root let you search the directories that lead to it: `chmod o+x DIR`",
            ),
        _ => Error::io(dir.display().to_string(), "looking at the directory failed", e),
    })?;
    match is.uid() {
        uid if is_trusted(uid) => Ok(is),
        uid => Err(refused(dir, &format!("it belongs to user {uid}, who can change what lies there"))),
    }
}

fn is_closed(is: &Metadata) -> bool {
    is.mode() & 0o022 == 0
}

fn writable(is: &Metadata) -> String {
    format!("its mode {:04o} lets other users change what lies there", is.mode() & 0o7777)
}

fn refused(dir: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Unfit, dir.display().to_string(), why).cure(CURE)
}

/// Root, the caller, and in a user namespace the users that have no number there, of which root of the machine is one.
fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == effective_user() || (is_nobody(uid) && is_in_user_namespace())
}

/// Whether a number stands for users that have none in this user namespace (user_namespaces(7)).
fn is_nobody(uid: u32) -> bool {
    let text = std::fs::read_to_string("/proc/sys/kernel/overflowuid");
    text.is_ok_and(|t| t.trim().parse() == Ok(uid))
}

fn is_in_user_namespace() -> bool {
    let whole = |map: String| map.split_whitespace().eq(["0", "0", "4294967295"]);
    let map: io::Result<String> = std::fs::read_to_string("/proc/self/uid_map");
    map.is_ok_and(|map| !whole(map))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    use super::*;

    /// A closed directory of the caller's that goes away with the test.
    struct Bed(PathBuf);

    impl Bed {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("ringway-trust-{name}-{}", std::process::id()));
            dirs::make(&dir, 0o755).unwrap();
            Self(fs::canonicalize(dir).unwrap())
        }

        fn dir(&self, name: &str, mode: u32) -> PathBuf {
            let dir = self.0.join(name);
            dirs::make(&dir, mode).unwrap();
            dir
        }
    }

    impl Drop for Bed {
        fn drop(&mut self) {
            let _ = dirs::remove_tree(&self.0);
        }
    }

    fn says(checked: Result<()>) -> String {
        let e = checked.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unfit);
        e.to_string()
    }

    #[test]
    fn directories_that_others_may_write_to_are_refused() {
        let bed = Bed::new("mode");
        check_path(&bed.dir("closed", 0o755)).unwrap();
        for mode in [0o777, 0o775, 0o757, 0o1777] {
            let open = bed.dir(&format!("open{mode:o}"), mode);
            assert!(says(check_path(&open)).contains(&format!("{mode:04o}")));
            let inner = open.join("inner");
            dirs::make(&inner, 0o755).unwrap();
            check_dir(&inner).unwrap();
            // Only the sticky bit keeps others from putting something else in its place.
            assert_eq!(check_path(&inner).is_ok(), mode == 0o1777, "{mode:o}");
        }
    }

    #[test]
    fn links_and_files_are_refused() {
        let bed = Bed::new("link");
        bed.dir("real", 0o755);
        symlink("real", bed.0.join("link")).unwrap();
        fs::write(bed.0.join("file"), "").unwrap();
        assert!(says(check_path(&bed.0.join("link"))).contains("symbolic link"));
        assert!(says(check_path(&bed.0.join("file"))).contains("no directory"));
        assert_eq!(check_path(&bed.0.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn directories_of_other_users_are_refused() {
        if !ringway_sys::is_root() {
            eprintln!("SKIPPED: only root can give directories to others");
            return;
        }
        let bed = Bed::new("owner");
        let theirs = bed.dir("theirs", 0o755);
        let inner = theirs.join("inner");
        dirs::make(&inner, 0o755).unwrap();
        chown(&theirs, Some(4711), None).unwrap();
        for dir in [&theirs, &inner] {
            assert!(says(check_path(dir)).contains("user 4711"), "{}", dir.display());
        }
        fs::set_permissions(&theirs, Permissions::from_mode(0o1755)).unwrap();
        assert!(check_path(&inner).is_err(), "the owner of a sticky directory renames what is in it");
    }
}
