//! The scripts, written when they are needed first.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use crate::peers::{Peer, Scripts};
use crate::suite::Fault;
use crate::suite::preload::library;

/// The compiled half of the Python module, as cargo builds it.
const LIBRARY: &str = "libringway_python.so";

/// Systems that import package `ringway`.
const OURS: &str = "ringway";

/// The scripts of all cases.
#[derive(Debug, Clone, Default)]
pub(in crate::suite) struct Shared(Rc<OnceCell<Result<Made, Fault>>>);

#[derive(Debug)]
struct Made {
    scripts: Scripts,
    /// Why package `ringway` is not there, if it is not.
    library: Result<PathBuf, Fault>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Starts a script for a system, in a network namespace if one is named.
    pub(in crate::suite) fn start(
        &self,
        script: &str,
        system: &str,
        args: &[&str],
        netns: Option<&str>,
        cpu: usize,
    ) -> Result<Peer, Fault> {
        let made = self.0.get_or_init(make).as_ref().map_err(Clone::clone)?;
        if system.starts_with(OURS) {
            made.library.as_ref().map_err(Clone::clone)?;
        }
        let args = [&[system], args].concat();
        Ok(made.scripts.start(script, args, netns, cpu)?)
    }
}

fn make() -> Result<Made, Fault> {
    let library = library(LIBRARY).map(PathBuf::from).map_err(|_| {
        let cure = "run cargo build --release -p ringway-python, or name its directory in RINGWAY_LIB";
        Fault::Unavailable(format!("{LIBRARY} is not beside the command: {cure}"))
    });
    let scripts = Scripts::write(library.as_deref().ok())?;
    Ok(Made { scripts, library })
}
