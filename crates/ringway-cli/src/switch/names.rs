//! Names of switches and their ports on the command line.

use std::fmt;
use std::str::FromStr;

use ringway::pinned::is_router;
use ringway::switch::{Switch, switches};
use ringway::{ErrorKind, PortName};
use ringway_router::kernel::Router;
use ringway_watch::{routers, switches::Reading};

use crate::failure::Failure;

/// The switch that a command is for.
#[derive(Debug, clap::Args)]
pub(super) struct SwitchName {
    /// Name of the switch
    #[arg(value_name = "SWITCH")]
    pub(super) switch: String,
}

/// The port that a command is for.
#[derive(Debug, clap::Args)]
pub(super) struct OnePort {
    /// The port as SWITCH:PORT
    #[arg(value_name = "SWITCH:PORT")]
    pub(super) port: PortOf,
}

/// A port as `SWITCH:PORT`.
#[derive(Debug, Clone)]
pub(super) struct PortOf {
    pub(super) switch: String,
    pub(super) port: String,
}

impl fmt::Display for PortOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.switch, self.port)
    }
}

impl FromStr for PortOf {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(PortName::Vale { switch, port }) => Ok(Self { switch, port }),
            Ok(_) => Err("accepted: SWITCH:PORT such as vale0:p1".into()),
            Err(_) => {
                Err("accepted: SWITCH:PORT such as vale0:p1; the port has 1 to 31 letters, digits, _ or -, \
                           the switch is called vale and up to 11 of them"
                    .into())
            }
        }
    }
}

/// What a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Switches.
    Switches,
    /// Switches and routers, as `ringway vale` has them.
    All,
}

/// The switches of a list.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// Only this switch
    #[arg(value_name = "SWITCH")]
    switch: Option<String>,
}

impl Chosen {
    /// The switch of that name, or all.
    pub(super) fn switches(&self, scope: Scope) -> Result<Vec<Reading>, Failure> {
        if scope == Scope::All && self.switch.as_deref().is_some_and(is_router) {
            return Ok(Vec::new());
        }
        if let Some(name) = &self.switch {
            return Ok(vec![Reading::of(&Switch::open(name)?)]);
        }
        // One that goes away meanwhile is not in the list.
        let opened = switches().into_iter().map(|name| Switch::open(&name));
        let there = opened.filter(|s| s.as_ref().err().is_none_or(|e| e.kind() != ErrorKind::NotFound));
        there.map(|switch| Ok(Reading::of(&switch?))).collect()
    }

    /// The router of that name, or all, where routers are in the list.
    pub(super) fn routers(&self, scope: Scope) -> Result<Vec<routers::Reading>, Failure> {
        match &self.switch {
            _ if scope == Scope::Switches => Ok(Vec::new()),
            None => Ok(routers::readable()),
            Some(name) if is_router(name) => Ok(vec![routers::Reading::of(&Router::open(name)?)]),
            Some(_) => Ok(Vec::new()),
        }
    }
}
