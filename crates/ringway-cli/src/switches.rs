//! What there is to know of switches, read at one moment, for all commands that show it.

use ringway::Counters;
use ringway::vale::{Switch, SwitchPortStats, SwitchSpec, SwitchTotals, check_root, switches};
use rustix::process::geteuid;

use crate::failure::Failure;

/// A switch and its ports.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) spec: SwitchSpec,
    /// Bytes of kernel memory.
    pub(crate) memory: usize,
    pub(crate) ports: Vec<SwitchPortStats>,
    pub(crate) totals: SwitchTotals,
}

impl Reading {
    pub(crate) fn of(switch: &Switch) -> Self {
        let ports = switch.stats();
        Self {
            name: switch.name().to_owned(),
            spec: switch.spec(),
            memory: switch.memory(),
            totals: switch.totals(&ports),
            ports,
        }
    }

    /// Each side of each port with the name of its account, such as `p1 rx`.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (String, &Counters)> {
        self.ports.iter().flat_map(|p| {
            let name = &p.port.name;
            [(format!("{name} rx"), &p.counters.rx), (format!("{name} tx"), &p.counters.tx)]
        })
    }
}

/// Refuses users who see nothing because they may not, and a directory of switches that others than root can change.
pub(crate) fn need_root() -> Result<(), Failure> {
    let what = "switches and routers are shown to root alone; run as root";
    if !geteuid().is_root() {
        return Err(Failure::Other(what.into()));
    }
    Ok(check_root()?)
}

/// The switches that the caller may read: all for root, none for others.
pub(crate) fn readable() -> Vec<Reading> {
    switches().iter().filter_map(|name| Switch::open(name).ok()).map(|switch| Reading::of(&switch)).collect()
}
