//! What a router needs: addresses and routes.
//!
//! Side `k` of the tester is a network with one router before its hosts: the first host, which answers for all of them. So a
//! table of neighbours never grows with the number of flows.

use std::fmt::Write;
use std::net::Ipv4Addr;

use ringway_router::follow::Options;
use ringway_router::kernel::Path;

use super::spec::Behind;
use crate::Fault;
use crate::temporary::TemporaryRouter;
use crate::trial::format::{v4, v6};
use ringway_lab::Lab;

/// No answers but those to the tester, and no look at sources.
const IPV4: [&str; 4] = [
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv4.conf.default.send_redirects=0",
    "net.ipv4.ip_forward=1",
];
const IPV6: [&str; 5] = [
    "net.ipv6.conf.default.disable_ipv6=0",
    "net.ipv6.conf.all.disable_ipv6=0",
    "net.ipv6.conf.default.accept_dad=0",
    "net.ipv6.conf.default.autoconf=0",
    "net.ipv6.conf.all.forwarding=1",
];

/// Makes a namespace a router; before there are links.
pub(super) fn forwarding(inside: &Lab, ipv6: bool) -> Result<(), Fault> {
    let settings = if ipv6 { &IPV6[..] } else { &[] };
    Ok(inside.exec("sysctl", &[&["-qw"], &IPV4[..], settings].concat())?)
}

/// Makes the routes behind port 1.
pub(super) fn behind(inside: &Lab, behind: &Behind) -> Result<(), Fault> {
    inside.ip_batch(&more_commands(behind)).map_err(Into::into)
}

/// The commands for `ip` that make them.
fn more_commands(behind: &Behind) -> String {
    let (via, len) = (v4(1, 0), behind.prefix_len());
    let mut text = format!("neigh replace {via} lladdr {} nud permanent dev d1\n", behind.mac);
    for k in 0..1u64 << (len - 8) {
        let net = Ipv4Addr::from(10 << 24 | (k << (32 - len)) as u32);
        // Writing to a String can't fail.
        let _ = writeln!(text, "route add {net}/{len} via {via}");
    }
    text
}

/// Gives the interface of each side addresses, and routes to what is behind it.
pub(super) fn routes(inside: &Lab, ipv6: bool, sides: [&str; 2]) -> Result<(), Fault> {
    commands(ipv6, sides).iter().try_for_each(|command| Ok(inside.ip(command)?))
}

/// The commands for `ip`. Addresses stand alone, without a network around that has a broadcast address among the hosts.
fn commands(ipv6: bool, sides: [&str; 2]) -> Vec<String> {
    let mut commands = Vec::new();
    for (side, dev) in sides.into_iter().enumerate() {
        let (own, first) = (Ipv4Addr::new(198, 18 + side as u8, 0, 1), v4(side, 0));
        commands.push(format!("address add {own}/32 dev {dev}"));
        commands.push(format!("route add {first}/32 dev {dev}"));
        commands.push(format!("route add 198.{}.0.0/16 via {first} dev {dev}", 18 + side));
        if ipv6 {
            let (net, first) = (format!("2001:2:0:{:x}::", 1 + side), v6(side, 0));
            commands.push(format!("address add {net}1/128 dev {dev} nodad"));
            commands.push(format!("route add {first}/128 dev {dev}"));
            commands.push(format!("route add {net}/64 via {first} dev {dev}"));
        }
    }
    commands
}

/// Ringway's router over the links.
pub(super) fn ringway(inside: &Lab, members: &[&str]) -> Result<TemporaryRouter, Fault> {
    let nics = members.iter().map(ToString::to_string).collect();
    TemporaryRouter::following(inside, Options { nics, path: Some(Path::Xdp), ..Options::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_wire::MacAddr;

    #[test]
    fn routes_behind_a_port_share_a_network() {
        let text = |routes| more_commands(&Behind { routes, mac: MacAddr([2, 0, 0, 0, 0, 9]) });
        assert_eq!(
            text(1),
            "neigh replace 198.19.0.2 lladdr 02:00:00:00:00:09 nud permanent dev d1\nroute add 10.0.0.0/8 via 198.19.0.2\n"
        );
        let four = text(3);
        assert_eq!(four.lines().count(), 5, "{four}");
        assert!(four.ends_with("route add 10.192.0.0/10 via 198.19.0.2\n"), "{four}");
        assert!(text(u32::MAX).contains("route add 10.0.0.16/28 via"));
    }

    #[test]
    fn a_side_is_reached_by_its_first_host() {
        let four = commands(false, ["d0", "d1"]);
        assert_eq!(
            four[..3],
            [
                "address add 198.18.0.1/32 dev d0",
                "route add 198.18.0.2/32 dev d0",
                "route add 198.18.0.0/16 via 198.18.0.2 dev d0"
            ]
        );
        let both = commands(true, ["br0", "d1"]);
        assert_eq!((four.len(), both.len()), (6, 12));
        assert_eq!(
            both[9..],
            [
                "address add 2001:2:0:2::1/128 dev d1 nodad",
                "route add 2001:2:0:2::2/128 dev d1",
                "route add 2001:2:0:2::/64 via 2001:2:0:2::2 dev d1"
            ]
        );
    }
}
