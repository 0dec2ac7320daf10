//! Folders that go away with their owner, or with the next one if it was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "ringway-";

/// The name and place of a folder that holds the owner's process id: `ringway-PID-N`. Dropping it deletes the folder.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Chooses a name in `parent` that nobody has, after deleting the folders of owners that are dead. Makes nothing.
    pub fn reserve(parent: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self::delete_of(parent, |pid| !Path::new("/proc").join(pid.to_string()).exists());
        let number = NUMBER.fetch_add(1, Ordering::Relaxed); // only has to differ from the others
        Self { path: parent.join(format!("{PREFIX}{}-{number}", process::id())) }
    }

    /// Makes a folder in `parent` for its owner alone, after deleting the folders of owners that are dead.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn create(parent: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = Self::reserve(parent);
        fs::DirBuilder::new().mode(0o700).create(&folder.path)?;
        Ok(folder)
    }

    /// Deletes the folders of such owners in `parent`.
    pub fn delete_of(parent: &Path, owned_by: impl Fn(u32) -> bool) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_str().and_then(owner).is_some_and(&owned_by) {
                let _ = fs::remove_dir_all(entry.path()); // of another user, or gone by now
            }
        }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last part of the path.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path); // absent if nobody made it
    }
}

/// The process id in the name of a folder.
fn owner(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_from_names() {
        assert_eq!(owner("ringway-17-0"), Some(17));
        for other in ["ringway-17", "ringway-x-0", "ringway-17-x", "rte-17-0"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    #[test]
    fn a_folder_and_those_of_the_dead_go_away() {
        let parent = TemporaryFolder::create(&std::env::temp_dir()).unwrap();
        let dead = parent.path().join("ringway-4194305-0"); // above the largest process id
        fs::create_dir(&dead).unwrap();
        let folder = TemporaryFolder::create(parent.path()).unwrap();
        assert!(!dead.exists() && folder.path().is_dir());
        let other = TemporaryFolder::reserve(parent.path());
        assert!(folder.path().exists() && !other.path().exists());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
