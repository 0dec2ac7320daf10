//! What there is to know of switches, read at one moment, for all commands that show it.

use std::path::Path;

use ringway::Counters;
use ringway::pinned::{check_visible, root};
use ringway::switch::{Switch, SwitchPortStats, SwitchSpec, SwitchTotals, switches};
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

/// Refuses users who see nothing because they may not, and places from which switches can't be seen.
pub(crate) fn check_seen() -> Result<(), Failure> {
    let what = "switches and routers are shown to root alone; run as root";
    if !geteuid().is_root() {
        return Err(Failure::Other(what.into()));
    }
    Ok(check_visible()?)
}

/// What a list says that is empty, if it can be known.
pub(crate) fn none() -> Result<String, Failure> {
    check_seen()?;
    let usual = root() == Path::new("/sys/fs/bpf/ringway");
    let place = if usual { String::new() } else { format!(" in {}", root().display()) };
    Ok(format!("there is no switch or router{place}"))
}

/// The switches that the caller may read: all for root, none for others.
pub(crate) fn readable() -> Vec<Reading> {
    switches().iter().filter_map(|name| Switch::open(name).ok()).map(|switch| Reading::of(&switch)).collect()
}
