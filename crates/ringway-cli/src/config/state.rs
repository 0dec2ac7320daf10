//! Switches and routers: as files want them, and as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ringway::switch::{NicPath, PortAccess, PortConf, SwitchSpec};

use crate::router::add::Options;
use crate::switch::station::Station;

/// What files want.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) switches: BTreeMap<String, Switch>,
    pub(super) routers: BTreeMap<String, Router>,
    /// The network namespaces that each switch and router names, and the place of each name in a file.
    pub(super) netns_at: BTreeMap<String, Vec<(String, String)>>,
}

/// A network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Netns {
    /// That in which the command runs.
    #[default]
    Here,
    /// By a name of `ip netns`, or the path of a file.
    Named(String),
    /// One that nobody can name in a file.
    Nameless,
}

impl fmt::Display for Netns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("this network namespace"),
            Self::Named(name) => write!(f, "network namespace {name}"),
            Self::Nameless => f.write_str("a network namespace without a name"),
        }
    }
}

/// A switch with its ports.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Switch {
    pub(super) spec: SwitchSpec,
    pub(super) ports: BTreeMap<String, Port>,
    pub(super) members: BTreeMap<String, Member>,
    /// Addresses that stay, and the port of each; `None`: frames to it are dropped.
    pub(super) addresses: BTreeMap<Station, Option<String>>,
}

impl Switch {
    /// Whether it has a port of that name, which may be the host's side of a member.
    pub(super) fn has_port(&self, name: &str) -> bool {
        let host = || name.strip_suffix('^').and_then(|of| self.members.get(of)).is_some_and(|is| is.host);
        self.ports.contains_key(name) || self.members.contains_key(name) || host()
    }
}

/// A port for programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Port {
    pub(super) access: PortAccess,
    pub(super) conf: PortConf,
    /// The memif socket that it is joined to, with its options. `None` in a file: the process that has the port open may keep it.
    pub(super) memif: Option<String>,
}

impl Default for Port {
    /// Root's.
    fn default() -> Self {
        let access = PortAccess { uid: Some(0), gid: Some(0), ..PortAccess::default() };
        Self { access, conf: PortConf::default(), memif: None }
    }
}

/// An interface that is a port.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Member {
    /// The interface, where its name is another one than the port's.
    pub(super) interface: Option<String>,
    pub(super) netns: Netns,
    /// Whether its host's side is a port too.
    pub(super) host: bool,
    /// `Auto` in a file: by any path.
    pub(super) path: NicPath,
    pub(super) conf: PortConf,
}

/// A router.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Router {
    pub(super) netns: Netns,
    pub(super) members: BTreeSet<String>,
    pub(super) options: Options,
}

/// What exists.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Existing {
    pub(super) switches: BTreeMap<String, ExistingSwitch>,
    pub(super) routers: BTreeMap<String, ExistingRouter>,
}

/// A switch, and what stands in the way of changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ExistingSwitch {
    pub(super) state: Switch,
    /// Members whose interface was deleted.
    pub(super) gone: BTreeSet<String>,
    /// Ports that processes have open, and ports that go away with a process.
    pub(super) open: BTreeMap<String, Holder>,
}

/// Who has a port open.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Holder {
    /// `None`: it can't be seen from here.
    pub(super) pid: Option<u32>,
    /// Whether the port goes away with it.
    pub(super) ephemeral: bool,
}

/// A router, and whether it is looked after.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ExistingRouter {
    pub(super) netns: Netns,
    pub(super) members: BTreeSet<String>,
    /// `None`: how it was made is not known.
    pub(super) options: Option<Options>,
    /// Whether a process follows the kernel's tables for it.
    pub(super) has_process: bool,
}
