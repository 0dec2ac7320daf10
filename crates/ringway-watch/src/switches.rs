//! What there is to know of switches, read at one moment.

use ringway::Counters;
use ringway::switch::{Switch, SwitchPortStats, SwitchSpec, SwitchTotals, switches};

/// A switch and its ports.
#[derive(Debug)]
pub struct Reading {
    /// Of the switch.
    pub name: String,
    /// How it was made.
    pub spec: SwitchSpec,
    /// Bytes of kernel memory.
    pub memory: usize,
    /// The ports that it has, by number.
    pub ports: Vec<SwitchPortStats>,
    /// Sums over all ports that it has and had.
    pub totals: SwitchTotals,
}

impl Reading {
    /// The switch as it is now.
    #[must_use]
    pub fn of(switch: &Switch) -> Self {
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
    pub fn sides(&self) -> impl Iterator<Item = (String, &Counters)> {
        self.ports.iter().flat_map(|p| {
            let name = &p.port.name;
            [(format!("{name} rx"), &p.counters.rx), (format!("{name} tx"), &p.counters.tx)]
        })
    }
}

/// The switches that the caller may read: all for root, none for others.
#[must_use]
pub fn readable() -> Vec<Reading> {
    switches().iter().filter_map(|name| Switch::open(name).ok()).map(|switch| Reading::of(&switch)).collect()
}
