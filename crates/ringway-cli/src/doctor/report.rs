//! All that the doctor found, and what follows from it.

use ringway::probe::{self, Backend, Check, Choice, Interface, Machine};

use super::set::Set;

/// All that was found.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) interface: Option<(Interface, Vec<Check>)>,
    pub(super) fixed: Vec<Set>,
}

impl Report {
    pub(super) fn interface_checks(&self) -> &[Check] {
        self.interface.as_ref().map_or(&[], |(_, checks)| checks)
    }

    /// What stands in the way of a backend.
    pub(super) fn obstacle(&self, backend: Backend) -> Option<&Check> {
        backend.obstacle(&self.machine.checks, self.interface_checks())
    }

    /// What `auto:` would take, when there is an interface to choose for.
    pub(super) fn choice(&self) -> Option<Choice> {
        self.interface.as_ref().map(|(_, checks)| probe::choose(&self.machine.checks, checks))
    }

    /// The port of a backend: with the interface's name, or just the prefix.
    pub(super) fn port(&self, backend: Backend) -> String {
        let name = self.interface.as_ref().map_or("", |(i, _)| i.name.as_str());
        format!("{}{name}", backend.prefix())
    }

    pub(super) fn works(&self) -> bool {
        Backend::ALL.into_iter().any(|b| self.obstacle(b).is_none())
    }
}
