//! Names of what exists, for lists and completions.

use nix::net::if_::if_nameindex;
use ringway::switch::{Switch, switches};

/// Interfaces of this network namespace.
pub(crate) fn interfaces() -> Vec<String> {
    let all = if_nameindex();
    all.map(|all| all.iter().map(|one| one.name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default()
}

/// Ports of the switches that this user may list, each with its switch.
pub(crate) fn switch_ports() -> Vec<(String, String)> {
    let ports = |name: String| {
        let ports = Switch::open(&name).map(|switch| switch.ports()).unwrap_or_default();
        ports.into_iter().map(move |port| (name.clone(), port.name))
    };
    switches().into_iter().flat_map(ports).collect()
}
