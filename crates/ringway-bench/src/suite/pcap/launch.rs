//! How an unmodified program is started on Ringway: by the environment that `ringway run` sets.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::Fault;

const LIBRARIES: [&str; 2] = ["libringway_pcap.so", "libringway_socket.so"];

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
    /// Unavailable when the libraries have not been built.
    pub(super) fn environment(self) -> Result<Environment, Fault> {
        let settings: &[(&str, &str)] = match self {
            Self::System => return Ok(Vec::new()),
            Self::Default => &[],
            Self::Copy => &[("RINGWAY_COPY", "1")],
            Self::Map(map) => &[("RINGWAY_MAP", map)],
            Self::AtOnce(map) => &[("RINGWAY_BATCH_US", "0"), ("RINGWAY_MAP", map)],
        };
        let settings = settings.iter().map(|(name, value)| (*name, value.into()));
        Ok([("LD_PRELOAD", libraries(&directories())?)].into_iter().chain(settings).collect())
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
    // A test program lies in a directory below the libraries.
    vec![beside.to_owned(), beside.join(".."), beside.join("../lib/ringway")]
}

/// Both libraries of the first directory that has them, as the dynamic linker takes them.
fn libraries(dirs: &[PathBuf]) -> Result<OsString, Fault> {
    for dir in dirs {
        let files = LIBRARIES.map(|file| dir.join(file));
        if files.iter().all(|file| file.is_file()) {
            return Ok(files.map(PathBuf::into_os_string).join(":".as_ref()));
        }
    }
    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
    let cure = "build them with `make all`, or name their directory in RINGWAY_LIB";
    Err(Fault::Unavailable(format!("no {} in {}; {cure}", LIBRARIES.join(" and "), dirs.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::OwnFolder;

    #[test]
    fn both_libraries_or_none() {
        let folder = OwnFolder::create(&env::temp_dir()).unwrap();
        let dirs = [folder.path().join("absent"), folder.path().to_owned()];
        assert!(matches!(libraries(&dirs), Err(Fault::Unavailable(why)) if why.contains("make all")));
        std::fs::write(folder.path().join(LIBRARIES[0]), "").unwrap();
        assert!(libraries(&dirs).is_err());
        std::fs::write(folder.path().join(LIBRARIES[1]), "").unwrap();
        let both = libraries(&dirs).unwrap().into_string().unwrap();
        assert!(both.matches(':').count() == 1 && both.ends_with(LIBRARIES[1]), "{both}");
    }

    #[test]
    fn the_system_needs_nothing() {
        assert_eq!(Under::System.environment(), Ok(Vec::new()));
        assert!(matches!(program("no-such-program", 0, Under::System), Err(Fault::Unavailable(_))));
    }
}
