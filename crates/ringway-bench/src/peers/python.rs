//! Scripts of Python as peers, each with a module that has to be there. Sources: `python/*.py` of this crate.
//!
//! They and the package `ringway` are written to a folder, with the compiled module as it lies beside the command.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use ringway_lab::TemporaryFolder;
use ringway_lab::program::ProgramError;

use super::Peer;

/// The files of a folder, by their paths.
const FILES: [(&str, &str); 6] = [
    ("peer.py", include_str!("../../python/peer.py")),
    ("raw_socket.py", include_str!("../../python/raw_socket.py")),
    ("receive.py", include_str!("../../python/receive.py")),
    ("send.py", include_str!("../../python/send.py")),
    ("lookups.py", include_str!("../../python/lookups.py")),
    ("ringway/__init__.py", include_str!("../../../ringway-python/python/ringway/__init__.py")),
];

/// The environment of Python that `scripts/setup --bench` makes, in the folder that cargo builds into.
const OWN: &str = "bench-python/bin/python3";

/// The scripts in a folder of their own, which goes away with this.
#[derive(Debug)]
pub(crate) struct Scripts {
    folder: TemporaryFolder,
    python: PathBuf,
}

impl Scripts {
    /// Writes the scripts. `library` is the compiled half of package `ringway`, for the scripts that import it.
    pub(crate) fn write(library: Option<&Path>) -> Result<Self, ProgramError> {
        let failed = |source| ProgramError::Os { action: "write of the scripts of Python", source };
        let python =
            interpreter().ok_or_else(|| unavailable("there is no python3 (Debian package python3)"))?;
        let folder = TemporaryFolder::create(&env::temp_dir()).map_err(failed)?;
        fill(folder.path(), library).map_err(failed)?;
        Ok(Self { folder, python })
    }

    /// Starts a script in a named network namespace, on one CPU, and waits until it is set up.
    pub(crate) fn start(
        &self,
        script: &str,
        args: impl IntoIterator<Item: AsRef<OsStr>>,
        netns: Option<&str>,
        cpu: usize,
    ) -> Result<Peer, ProgramError> {
        let mut command = Command::new(&self.python);
        command.arg(self.folder.path().join(script)).args(args);
        command.env("PEER_CPU", cpu.to_string()).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
        // Libraries of numpy would start a thread for each CPU.
        command.env("OPENBLAS_NUM_THREADS", "1");
        Peer::start(script, command, netns, super::peer::OWN_PROTOCOL)
    }
}

fn fill(folder: &Path, library: Option<&Path>) -> io::Result<()> {
    fs::create_dir(folder.join("ringway"))?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    library.map_or(Ok(()), |library| symlink(library, folder.join("ringway/_native.abi3.so")))
}

/// Debian's Python, for which `scripts/setup` installs modules. Another one may come first in the path.
const DEBIAN: &str = "/usr/bin/python3";

/// The Python that `RINGWAY_PYTHON` names, else the environment that was made for benchmarks, else Debian's, else the first of the path.
fn interpreter() -> Option<PathBuf> {
    if let Some(python) = ringway::environment("RINGWAY_PYTHON") {
        return Some(python.into());
    }
    let exe = env::current_exe().unwrap_or_default();
    let made = exe.ancestors().skip(1).take(3).map(|folder| folder.join(OWN));
    let path = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let others = env::split_paths(&path).map(|folder| folder.join("python3")).collect::<Vec<_>>();
    made.chain([DEBIAN.into()]).chain(others).find(|python| python.is_file())
}

fn unavailable(reason: &str) -> ProgramError {
    ProgramError::Unavailable { program: "python".into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_is_missing_is_named_with_the_cure() {
        let Ok(scripts) = Scripts::write(None) else { return eprintln!("SKIP: there is no python3") };
        let args = ["ringway", "no-such-interface", "0.1"];
        let error = scripts.start("receive.py", args, None, 0).unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        let words = error.to_string();
        assert!(words.contains("no ringway") && words.contains("scripts/setup --bench"), "{words}");
    }

    #[test]
    fn a_folder_has_the_package_and_goes_away() {
        let Ok(scripts) = Scripts::write(Some(Path::new("/nowhere.so"))) else {
            return eprintln!("SKIP: there is no python3");
        };
        let folder = scripts.folder.path().to_owned();
        let native = folder.join("ringway/_native.abi3.so");
        assert_eq!(fs::read_link(native).unwrap(), Path::new("/nowhere.so"));
        drop(scripts);
        assert!(!folder.exists());
    }
}
