//! Where the libraries are that are put under a program.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use crate::errors;
use crate::failure::Failure;

/// What the dynamic linker gets to know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The file for `LD_PRELOAD` that serves libpcap's functions and packet sockets.
    pub(super) preload: PathBuf,
    /// The one that serves netmap's device, before the other.
    pub(super) netmap: PathBuf,
    /// The directory for `LD_LIBRARY_PATH`, where programs that load libpcap by another name find it.
    pub(super) search: Option<PathBuf>,
}

const LIBRARY: &str = "libringway_preload.so";
const NETMAP: &str = "libringway_netmap.so";

/// Names under which programs load libpcap at run time.
const ALIASES: [&str; 3] = ["libpcap.so.0.8", "libpcap.so.1", "libpcap.so"];

/// Finds the libraries.
pub(super) fn find() -> Result<Found, Failure> {
    let dirs = directories();
    let preload = locate(LIBRARY, &dirs)?;
    let beside = preload.parent().unwrap_or(Path::new("/"));
    let netmap = locate(NETMAP, &[beside.to_owned()])?;
    let search = aliases(beside);
    Ok(Found { preload, netmap, search })
}

/// The directory of `RINGWAY_LIB` alone, or the directories of this command: of a build, and of an installation.
fn directories() -> Vec<PathBuf> {
    if let Some(dir) = ringway::environment("RINGWAY_LIB") {
        return vec![dir.into()];
    }
    let exe = std::env::current_exe().unwrap_or_default();
    let beside = exe.parent().unwrap_or(Path::new("/")).to_owned();
    let installed = beside.join("../lib/ringway");
    vec![beside, installed]
}

fn locate(library: &str, dirs: &[PathBuf]) -> Result<PathBuf, Failure> {
    let mut found = dirs.iter().filter_map(|dir| dir.join(library).canonicalize().ok());
    found.find(|path| path.is_file()).ok_or_else(|| missing(library, dirs))
}

fn missing(library: &str, dirs: &[PathBuf]) -> Failure {
    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
    let cure = "build it with `make all`, or name its directory in RINGWAY_LIB";
    Failure::Other(
        errors::processes::NO_LIBRARY,
        format!("{library} is not in {}; {cure}", dirs.join(" or ")),
    )
}

/// A directory in which the library of `dir` has all its names: that directory itself when it was installed so, else one in it,
/// which is made. Without it, only programs that ask for `libpcap.so.0.8` are served, as nearly all do.
fn aliases(dir: &Path) -> Option<PathBuf> {
    if dir.join(ALIASES[0]).exists() {
        return Some(dir.to_owned());
    }
    let inner = dir.join("ringway-libpcap");
    // Nobody else may put a library there, whatever the umask is, nor lead this elsewhere by a link.
    let _ = DirBuilder::new().mode(0o755).create(&inner); // or it is there
    fs::symlink_metadata(&inner).ok().filter(fs::Metadata::is_dir)?;
    for alias in ALIASES {
        let (link, library) = (inner.join(alias), Path::new("..").join(LIBRARY));
        // Two commands may make it at once: either link is right. One to a library of an earlier version is not.
        if !fs::read_link(&link).is_ok_and(|to| to == library) {
            let _ = fs::remove_file(&link);
            let _ = symlink(&library, &link);
        }
        link.exists().then_some(())?;
    }
    Some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_gets_its_aliases_once() {
        let dir = std::env::temp_dir().join(format!("ringway-libraries-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(aliases(&dir), None, "links to nothing are no libraries");
        fs::write(dir.join(LIBRARY), "").unwrap();
        let inner = dir.join("ringway-libpcap");
        assert_eq!((aliases(&dir), aliases(&dir)), (Some(inner.clone()), Some(inner.clone())));
        fs::write(dir.join("old.so"), "").unwrap();
        fs::remove_file(inner.join("libpcap.so")).unwrap();
        symlink("../old.so", inner.join("libpcap.so")).unwrap();
        assert!(aliases(&dir).is_some());
        assert_eq!(fs::read_link(inner.join("libpcap.so")).unwrap(), Path::new("..").join(LIBRARY));
        fs::remove_dir_all(dir.join("ringway-libpcap")).unwrap();
        fs::create_dir(dir.join("elsewhere")).unwrap();
        symlink("elsewhere", dir.join("ringway-libpcap")).unwrap();
        assert_eq!(aliases(&dir), None, "a link of somebody's is not followed");
        assert_eq!(fs::read_dir(dir.join("elsewhere")).unwrap().count(), 0);
        fs::write(dir.join("libpcap.so.0.8"), "").unwrap();
        assert_eq!(aliases(&dir), Some(dir.clone()));
        fs::remove_dir_all(dir).unwrap();
    }
}
