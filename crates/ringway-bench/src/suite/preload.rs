//! The libraries that put Ringway under unmodified programs, by `LD_PRELOAD`.
//!
//! They lie beside the program that runs a suite, in the directory above it, in `../lib/ringway` from there, or in
//! the directory that `RINGWAY_LIB` names.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Fault;

/// The library of this name. Unavailable when it has not been built.
pub(super) fn library(name: &str) -> Result<OsString, Fault> {
    find(name, &directories())
}

fn directories() -> Vec<PathBuf> {
    if let Some(dir) = ringway::environment("RINGWAY_LIB") {
        return vec![dir.into()];
    }
    let exe = env::current_exe().unwrap_or_default();
    let beside = exe.parent().unwrap_or(Path::new("/"));
    // A test program lies in a directory below the library.
    vec![beside.to_owned(), beside.join(".."), beside.join("../lib/ringway")]
}

/// The library of the first directory that has it.
fn find(name: &str, dirs: &[PathBuf]) -> Result<OsString, Fault> {
    if let Some(file) = dirs.iter().map(|dir| dir.join(name)).find(|file| file.is_file()) {
        return Ok(file.into_os_string());
    }
    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
    let cure = "build it with `make all`, or name its directory in RINGWAY_LIB";
    Err(Fault::Unavailable(format!("no {name} in {}; {cure}", dirs.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;

    #[test]
    fn the_library_of_the_first_directory_that_has_it() {
        let folder = TemporaryFolder::create(&env::temp_dir()).unwrap();
        let dirs = [folder.path().join("absent"), folder.path().to_owned()];
        assert!(matches!(find("lib.so", &dirs), Err(Fault::Unavailable(why)) if why.contains("make all")));
        let file = folder.path().join("lib.so");
        std::fs::write(&file, "").unwrap();
        assert_eq!(find("lib.so", &dirs), Ok(file.into_os_string()));
    }
}
