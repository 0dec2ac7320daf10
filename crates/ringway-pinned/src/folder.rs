//! Folders of pinned objects, for things that move packets and have a name: routers, for example.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::find::find;
use super::mount::make_root;
use super::name::check_router_name;
use super::root::root;
use super::whole::{LOCK, clean, lock_root, make_lock, make_whole};
use ringway_sys::dir_lock::DirLock;
use ringway_sys::dirs;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::private_dir::make_closed_dir;

/// A folder in [`root`](super::root()): made whole or not at all, locked while it is changed, removed whole.
///
/// Its name is one that a switch could have, and no switch can have it as well. A file in it tells what kind it is of.
///
/// ```no_run
/// use ringway_pinned::Folder;
/// let folder = Folder::make("vale0", |dir| std::fs::create_dir(dir.join("router")).map_err(|e| ringway_sys::Error::io("vale0", "mkdir failed", e)))?;
/// assert_eq!(folder.path(), ringway_pinned::root().join("vale0"));
/// folder.remove(|| println!("nobody else changes it now"))?;
/// # Ok::<(), ringway_sys::Error>(())
/// ```
#[derive(Debug)]
pub struct Folder {
    name: String,
    dir: PathBuf,
}

/// An exclusive lock, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held for its descriptor")] DirLock);

impl Folder {
    /// Makes a folder, filled by `fill` under another name first.
    ///
    /// # Errors
    /// An error of `fill`; [`ErrorKind::BadName`]; [`ErrorKind::Busy`] when there is one of that name, or a switch;
    /// [`ErrorKind::Denied`] without privilege. Nothing half made stays.
    pub fn make(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        check_router_name(name)?;
        let root = make_root()?;
        let _alone = lock_all(&root, name)?;
        let dir = make_whole(&root, name, |making| {
            let io = |e| {
                Error::io(name, format!("making {} failed", making.display()), e)
                    .cure_if_denied("run as root")
            };
            dirs::make(making, 0o755).map_err(io)?;
            make_lock(making).map_err(io)?;
            fill(making)
        })?;
        Ok(Self { name: name.to_owned(), dir })
    }

    /// Opens the folder called `name` that has a file called `kind`.
    ///
    /// # Errors
    /// [`ErrorKind::BadName`]; [`ErrorKind::NotFound`] when there is none of that name; [`ErrorKind::Unfit`] when it is of another kind;
    /// [`ErrorKind::Denied`] to those who may not look.
    pub fn open(name: &str, kind: &str) -> Result<Self> {
        let dir = find(name)?;
        if !dir.join(kind).exists() {
            return Err(Error::new(ErrorKind::Unfit, name, format!("it is no {kind}"))
                .cure("`ringway switch list` and `ringway router list` show what there is"));
        }
        Ok(Self { name: name.to_owned(), dir })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Waits for the right to change it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it was removed meanwhile; [`ErrorKind::Denied`] without access.
    pub fn lock(&self) -> Result<FolderLock> {
        let at = self.dir.join(LOCK);
        match DirLock::take(&at, true) {
            Ok(Some(lock)) if lock.is_at(&at) => Ok(FolderLock(lock)),
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&self.name, "locking it failed", e).cure_if_denied("run as root"))
            }
            _ => Err(Error::new(ErrorKind::NotFound, &self.name, "it was removed meanwhile")),
        }
    }

    /// Takes the lock on the directory `what` in it, which is made if it is missing; `None` when another
    /// process has it. Nobody but the user may open the directory, and so lock it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn claim(&self, what: &str) -> Result<Option<FolderLock>> {
        let at = self.dir.join(what);
        let io = |e| {
            Error::io(&self.name, format!("locking {} failed", at.display()), e).cure_if_denied("run as root")
        };
        make_closed_dir(&at)?;
        Ok(DirLock::take_soon(&at, FORK_MAX).map_err(io)?.map(FolderLock))
    }

    /// The process that has the lock on the directory `what`; `None` when nobody has, or one of another pid namespace.
    #[must_use]
    pub fn holder(&self, what: &str) -> Option<u32> {
        DirLock::holder(&self.dir.join(what))
    }

    /// Removes it with all pins in it, after `empty` ended what they do.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn remove(&self, empty: impl FnOnce()) -> Result<()> {
        let root = root();
        let _alone = lock_all(&root, &self.name)?;
        clean(&root);
        let _lock = self.lock()?;
        empty();
        let gone = root.join(format!("~{}", self.name));
        let failed = |e| Error::io(&self.name, "removing it failed", e).cure_if_denied("run as root");
        fs::rename(&self.dir, &gone).map_err(failed)?;
        dirs::remove_tree(&gone).map_err(failed)
    }
}

/// How long a lock may outlive its holder: a process that is being started holds all descriptors of its parent for a moment.
const FORK_MAX: Duration = Duration::from_millis(500);

fn lock_all(root: &Path, name: &str) -> Result<Option<DirLock>> {
    lock_root(root).map_err(|e| {
        Error::io(name, "locking the directory of switches failed", e).cure_if_denied("run as root")
    })
}
