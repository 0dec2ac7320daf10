//! Where a benchmark must not run: overload tests are for isolated laboratories (RFC 6815).

use std::fs;
use std::net::IpAddr;

use ringway::switch::{Switch, SwitchPort};
use ringway::{PortName, probe};

use crate::trial::format::{is_test_v4, is_test_v6};

/// The interface below a port, or at another port of its switch, if it holds a default route. `None` for ports that are neither.
///
/// Only root can see the interfaces of a switch. For other users a port of a switch counts as none of an interface.
///
/// ```
/// assert_eq!(ringway_tester::ports::with_default_route("loop:"), None);
/// ```
#[must_use]
pub fn with_default_route(port: &str) -> Option<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    interfaces(port).into_iter().find(|interface| {
        default_v4(&read("/proc/net/route"), interface)
            || default_v6(&read("/proc/net/ipv6_route"), interface)
    })
}

/// Why traffic must not be sent on a port: its interface has a default route, or an address that is not one of those set aside for
/// benchmarks. `None` when nothing speaks against it, also for ports that are no interface.
#[must_use]
pub fn refuse(port: &str) -> Option<String> {
    let interface = interface(port)?;
    let why = if with_default_route(port).is_some() {
        "holds a default route".to_owned()
    } else {
        // What is not there has no address; opening it tells.
        let addresses = probe::interface(&interface).ok()?.addresses;
        let address = addresses.into_iter().find(|a| !is_allowed(*a))?;
        format!("has the address {address}")
    };
    Some(format!(
        "{port}: interface {interface} {why}, and an overload test is for isolated laboratories (RFC 6815); choose another port, or \
         give --allow-production to do it all the same"
    ))
}

/// The interface below a port, if it has one.
fn interface(port: &str) -> Option<String> {
    let name: PortName = port.parse().ok()?;
    name.interface().map(str::to_owned)
}

/// The interface below a port, or all interfaces of the switch that it belongs to: frames may leave through each of them.
fn interfaces(port: &str) -> Vec<String> {
    let Ok(name) = port.parse::<PortName>() else { return Vec::new() };
    match (name.interface(), name.switch_port()) {
        (Some(interface), _) => vec![interface.to_owned()],
        (None, Some((switch, _))) => {
            let ports = Switch::open(switch).map_or_else(|_| Vec::new(), |switch| switch.ports());
            let nics = ports.into_iter().filter(|port| port.nic.is_some() && !port.gone);
            // Most ports are called as their interface, and the host's side with a sign behind it.
            let called = |port: &SwitchPort| port.name.trim_end_matches('^').to_owned();
            nics.map(|port| port.interface().unwrap_or_else(|| called(&port))).collect()
        }
        (None, None) => Vec::new(),
    }
}

/// Rows of `/proc/net/route`: interface, destination, gateway, flags, ..., mask in field 7.
fn default_v4(routes: &str, interface: &str) -> bool {
    routes
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .any(|row| matches!(row[..], [of, "00000000", _, _, _, _, _, "00000000", ..] if of == interface))
}

/// Flag of a route that refuses (RTF_REJECT).
const REJECT: u32 = 0x200;

/// Rows of `/proc/net/ipv6_route`: destination, its length, ..., flags, interface.
fn default_v6(routes: &str, interface: &str) -> bool {
    let zero = "0".repeat(32);
    routes.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|row| {
        let flags = row.get(8).and_then(|flags| u32::from_str_radix(flags, 16).ok()).unwrap_or(0);
        row.starts_with(&[&zero, "00"]) && row.last() == Some(&interface) && flags & REJECT == 0
    })
}

/// Whether a laboratory's interface may have it: for benchmarks, documentation, or of this link only.
fn is_allowed(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => is_test_v4(a) || a.is_link_local() || a.is_documentation() || a.is_loopback(),
        IpAddr::V6(a) => is_test_v6(a) || a.is_unicast_link_local() || a.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_found() {
        let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                  eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth1\t0000000A\t0\t1\t0\t0\t0\t000000FF\t0\t0\t0\n";
        assert!(default_v4(v4, "eth0") && !default_v4(v4, "eth1") && !default_v4("", "eth0"));
        let zero = "0".repeat(32);
        let v6 = format!(
            "{zero} 00 {zero} 00 fe80 00000400 1 0 3 eth0\n{zero} 00 {zero} 00 {zero} ffffffff 1 0 00200200 lo\nfe80 40 {zero} 00 {zero} 0 1 0 1 eth1\n"
        );
        assert!(default_v6(&v6, "eth0") && !default_v6(&v6, "eth1") && !default_v6(&v6, "lo"));
    }

    #[test]
    fn ports_without_an_interface_and_the_loopback_may_be_used() {
        for port in ["loop:", "null:", "pipe:x{1", "vale0:p1", "no port"] {
            assert_eq!(refuse(port), None, "{port}");
        }
        assert_eq!(refuse("packet:lo"), None);
    }

    #[test]
    fn addresses_for_laboratories() {
        for (text, allowed) in [
            ("198.18.0.1", true),
            ("198.20.0.1", false),
            ("10.0.0.1", false),
            ("169.254.1.1", true),
            ("2001:2::1", true),
            ("2a00::1", false),
            ("fe80::1", true),
            ("192.0.2.1", true),
        ] {
            assert_eq!(is_allowed(text.parse().unwrap()), allowed, "{text}");
        }
    }
}
