//! Which devices are ports of Ringway, and under which names.
//!
//! * Names that only ports have: `vale0:p1`, `pipe:x{1`, `ebpf:eth0`, ...
//! * Names in the variable `RINGWAY_MAP`, as `ringway run --map` sets it: `eth0=vale0:p1,eth1=PORT`.
//! * With `RINGWAY_COPY=1`, as `ringway run --copy` sets it, names of Ethernet interfaces: copies of what they receive and of what
//!   the host sends there, which both go on.
//!
//! All else, plain names of interfaces included, is the system library's. So are interfaces that can't be copied.

use std::sync::OnceLock;

use ringway::switch::{Switch, switches};
use ringway_shim::PortMap;

use crate::sys;

/// What stands before the colon of a port's name, but for the names of switches.
const KINDS: [&str; 11] =
    ["ebpf", "auto", "xdp", "packet", "pipe", "pcap", "null", "loop", "tap", "fault", "trace"];

/// What stands for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A port.
    Port(String),
    /// Copies of what an interface receives and sends.
    Copies(String),
}

/// What stands for a device, or `None` for one of the system's.
pub(crate) fn target(device: &str) -> Option<Target> {
    if !serves() {
        return None;
    }
    static MAP: OnceLock<PortMap> = OnceLock::new();
    if let Some(port) = MAP.get_or_init(PortMap::of_environment).port(device) {
        return Some(Target::Port(port.to_owned()));
    }
    if is_port(device) {
        return Some(Target::Port(device.to_owned()));
    }
    let copy = ringway::environment("RINGWAY_COPY").is_some_and(|v| v == "1");
    (copy && sys::is_ethernet(device)).then(|| Target::Copies(device.to_owned()))
}

/// Whether calls of libpcap are served: not with `RINGWAY_ONLY=socket`, as `ringway run --only` sets it.
pub(crate) fn serves() -> bool {
    ringway::environment("RINGWAY_ONLY").is_none_or(|only| only != "socket")
}

/// Devices that a list of interfaces lacks: name and description.
pub(crate) fn listed() -> Vec<(String, String)> {
    if !serves() {
        return Vec::new();
    }
    let map = PortMap::of_environment();
    let mapped = map.entries().map(|(name, port)| (name.to_owned(), format!("Ringway port {port}")));
    mapped.chain(switch_ports()).collect()
}

/// The ports of switches that can be opened: those of interfaces can't.
fn switch_ports() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for switch in switches() {
        let ports = Switch::open(&switch).map(|s| s.ports()).unwrap_or_default();
        let free = ports.into_iter().filter(|p| p.nic.is_none());
        all.extend(
            free.map(|p| (format!("{switch}:{}", p.name), format!("port of Ringway switch {switch}"))),
        );
    }
    all
}

fn is_port(device: &str) -> bool {
    device
        .split_once(':')
        .is_some_and(|(kind, rest)| KINDS.contains(&kind) || kind.starts_with("vale") && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ports_are_ours() {
        for ours in ["vale0:p1", "pipe:x{1", "ebpf:eth0", "null:", "tap:file=a,port=loop:", "pipe:wrong"] {
            assert!(is_port(ours), "{ours}");
        }
        for theirs in ["eth0", "any", "vale0", "vale0:", "usbmon1", "nflog:1", "eth0:1", "dbus-system", ""] {
            assert!(!is_port(theirs), "{theirs}");
        }
    }
}
