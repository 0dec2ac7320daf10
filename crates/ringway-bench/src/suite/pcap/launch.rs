//! How an unmodified program is started on Ringway: by the environment that `ringway run` sets.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use crate::suite::Fault;
use crate::suite::preload::library;

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
        Ok([("LD_PRELOAD", library(LIBRARY)?)].into_iter().chain(settings).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_needs_nothing() {
        assert_eq!(Under::System.environment(), Ok(Vec::new()));
        assert!(matches!(program("no-such-program", 0, Under::System), Err(Fault::Unavailable(_))));
    }
}
