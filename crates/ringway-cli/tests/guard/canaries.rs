//! Files of root's that nobody may change: each kind of thing that a link could lead to.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A tree of files, and what it was.
pub(crate) struct Canaries {
    root: PathBuf,
    was: Vec<String>,
}

impl Canaries {
    pub(crate) fn new(root: &str) -> Self {
        let root = PathBuf::from(root);
        fs::create_dir(&root).unwrap();
        for (name, mode) in [("secret", 0o600), ("public", 0o644), ("tool", 0o755)] {
            let dir = root.join(format!("{name}-dir"));
            fs::create_dir(&dir).unwrap();
            fs::create_dir(dir.join("inner")).unwrap();
            for file in [root.join(name), dir.join("file"), dir.join("inner/file")] {
                fs::write(&file, name).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        symlink("secret", root.join("link")).unwrap();
        let was = look(&root);
        Self { root, was }
    }

    #[track_caller]
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(look(&self.root), self.was);
    }
}

/// Each file with all that is to stay.
fn look(root: &Path) -> Vec<String> {
    let (mut left, mut all) = (vec![root.to_owned()], Vec::new());
    while let Some(path) = left.pop() {
        let is = fs::symlink_metadata(&path).unwrap();
        let text = if is.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        let (owner, when) =
            ((is.uid(), is.gid()), (is.mtime(), is.mtime_nsec(), is.ctime(), is.ctime_nsec()));
        all.push(format!("{} {owner:?} {:o} {when:?} {text}", path.display(), is.mode()));
        if is.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().flatten().map(|e| e.path()));
        }
    }
    all.sort();
    all
}
