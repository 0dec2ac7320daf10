//! What decides where the frames of a switch go. `docs/modules.md` tells how to write a module.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(super) use ringway_bpf::layout::switch::numbers::{BRIDGE, CUSTOM, HUB};

use super::custom::Custom;

/// The decision of a switch, chosen when it is made.
///
/// As text: `bridge`, `hub`, or the path of an object.
///
/// ```
/// use ringway_switch::Module;
/// assert_eq!("hub".parse(), Ok(Module::Hub));
/// assert_eq!("./balance.o".parse(), Ok(Module::Object("./balance.o".into())));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Module {
    /// A learning bridge.
    #[default]
    Bridge,
    /// Every frame to all other ports; nothing is learned. A port that the slot's flags ask for is obeyed.
    Hub,
    /// A function of the user's, compiled to an eBPF object of 1 MiB at most. Nobody but root and the
    /// process' user may be able to write the file. The switch keeps a copy; of one that exists this is the
    /// file's name, without its directory; [`Switch::module_file`](crate::Switch::module_file) may know it.
    Object(PathBuf),
}

impl FromStr for Module {
    type Err = Infallible;

    fn from_str(s: &str) -> Result<Self, Infallible> {
        Ok(match s {
            "bridge" => Self::Bridge,
            "hub" => Self::Hub,
            path => Self::Object(path.into()),
        })
    }
}

impl Module {
    /// That of the switch in `dir`, whose `info.module` is `number`.
    pub(super) fn of(dir: &Path, number: u32, on: &str) -> Self {
        match number {
            HUB => Self::Hub,
            // A switch whose module can't be read any more still has one.
            CUSTOM => Self::Object(
                Custom::read_stored(&dir.join("module"), on).map_or_else(|_| "?".into(), |k| k.name.into()),
            ),
            _ => Self::Bridge,
        }
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bridge => f.write_str("bridge"),
            Self::Hub => f.write_str("hub"),
            Self::Object(path) => path.display().fmt(f),
        }
    }
}
