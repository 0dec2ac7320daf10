//! What a kind of port is: how its names read, and how its ports open.

use super::made::Made;
use super::name::{PortName, Text};
use super::options::OpenOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::RegionSpec;

/// A kind of port: a row of the table that opening looks through.
pub(crate) struct Kind {
    /// What stands before the colon.
    pub(crate) scheme: &'static str,
    /// Whether the scheme goes on up to the colon: `vale0:p1`.
    pub(crate) goes_on: bool,
    /// Reads a name.
    pub(crate) parse: fn(&Text<'_>) -> Result<PortName>,
    /// Which options of sharing frames it can't do.
    pub(crate) refuses: fn(&PortName, &OpenOptions) -> Option<Refusal>,
    /// Opens a port.
    pub(crate) open: Open,
}

/// What a kind of port can't do, and the cure.
pub(crate) type Refusal = (&'static str, &'static str);

/// How ports of a kind open.
pub(crate) enum Open {
    /// As the kind of port that serves an interface best.
    Best,
    /// By itself.
    Alone {
        /// The region that it needs.
        region: fn(&PortName, &OpenOptions) -> Result<RegionSpec>,
        /// Whether it lies in a region that others make or share, never in one given.
        foreign_region: bool,
        /// Opens it.
        open: fn(&PortName, &OpenOptions) -> Result<Made>,
    },
    /// Around another port.
    Around {
        /// Whether it has rings beside the rings of the port inside.
        own_rings: bool,
        /// Puts it around the port made.
        open: fn(&PortName, Made, &OpenOptions) -> Result<Made>,
    },
}

impl Kind {
    /// Whether names with this scheme are of the kind.
    pub(crate) fn has(&self, scheme: &str) -> bool {
        if self.goes_on { scheme.starts_with(self.scheme) } else { scheme == self.scheme }
    }
}

/// Kinds that can send without receiving refuse less.
pub(crate) fn refuse_send_only(_: &PortName, options: &OpenOptions) -> Option<Refusal> {
    let what = "only an `ebpf:` port of an interface can send without receiving";
    options.send_only.then_some((what, "open it without `send_only`"))
}

/// The failure of a kind that was given the name of another one.
pub(crate) fn wrong_kind(name: &PortName) -> Error {
    Error::new(ErrorKind::Unsupported, name.to_string(), "the port is of another kind")
}
