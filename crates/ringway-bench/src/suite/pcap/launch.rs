//! How an unmodified program is started on Ringway: by the environment that `ringway run` sets.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::Fault;

const LIBRARY: &str = "libringway_preload.so";

/// Variables for a program's environment.
pub(super) type Environment = Vec<(&'static str, OsString)>;

/// What puts Ringway under a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Under<'a> {
    /// Nothing: the program as it is.
    System,
    /// `ringway run` without options.
    Default,
    /// `ringway run --copy`.
    Copy,
    /// `ringway run --map NAME=PORT,...`.
    Map(&'a str),
    /// The same with `--batch-us 0`.
    AtOnce(&'a str),
}

impl Under<'_> {
    /// Unavailable when the library has not been built.
    pub(super) fn environment(self) -> Result<Environment, Fault> {
        let settings: &[(&str, &str)] = match self {
            Self::System => return Ok(Vec::new()),
            Self::Default => &[],
            Self::Copy => &[("RINGWAY_COPY", "1")],
            Self::Map(map) => &[("RINGWAY_MAP", map)],
            Self::AtOnce(map) => &[("RINGWAY_BATCH_US", "0"), ("RINGWAY_MAP", map)],
        };
        let settings = settings.iter().map(|(name, value)| (*name, value.into()));
        Ok([("LD_PRELOAD", library(&directories())?)].into_iter().chain(settings).collect())
    }
}

/// A program on a CPU, started in that way. Unavailable when it is not installed.
pub(super) fn program(name: &str, cpu: usize, under: Under<'_>) -> Result<Command, Fault> {
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|dir| dir.join(name).is_file()) {
        return Err(Fault::Unavailable(format!("it is not installed (Debian package {name})")));
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), name]).envs(under.environment()?);
    Ok(command)
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
fn library(dirs: &[PathBuf]) -> Result<OsString, Fault> {
    if let Some(file) = dirs.iter().map(|dir| dir.join(LIBRARY)).find(|file| file.is_file()) {
        return Ok(file.into_os_string());
    }
    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
    let cure = "build it with `make all`, or name its directory in RINGWAY_LIB";
    Err(Fault::Unavailable(format!("no {LIBRARY} in {}; {cure}", dirs.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_lab::TemporaryFolder;

    #[test]
    fn the_library_of_the_first_directory_that_has_it() {
        let folder = TemporaryFolder::create(&env::temp_dir()).unwrap();
        let dirs = [folder.path().join("absent"), folder.path().to_owned()];
        assert!(matches!(library(&dirs), Err(Fault::Unavailable(why)) if why.contains("make all")));
        let file = folder.path().join(LIBRARY);
        std::fs::write(&file, "").unwrap();
        assert_eq!(library(&dirs), Ok(file.into_os_string()));
    }

    #[test]
    fn the_system_needs_nothing() {
        assert_eq!(Under::System.environment(), Ok(Vec::new()));
        assert!(matches!(program("no-such-program", 0, Under::System), Err(Fault::Unavailable(_))));
    }
}
