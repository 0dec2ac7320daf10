//! Two containers: namespaces with a veth each, whose near ends lie in a third one.

use std::net::Ipv4Addr;

use crate::suite::Fault;
use ringway_lab::Lab;

/// The interface of each container.
pub(super) const INSIDE: &str = "eth0";

/// The near ends of their links.
pub(super) const MEMBERS: [&str; 2] = ["c0", "c1"];

/// Makes a namespace a router that answers for itself only.
const ROUTER: [&str; 5] = [
    "-qw",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv4.conf.all.send_redirects=0",
    "net.ipv4.ip_forward=1",
];

/// Two containers and what is between them, which is nothing yet.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) containers: [Lab; 2],
    pub(super) middle: Lab,
    routed: bool,
}

impl Place {
    /// Containers in one network, or in two that the middle routes between.
    pub(super) fn new(routed: bool, mtu: u32) -> Result<Self, Fault> {
        let place = Self { containers: [Lab::new()?, Lab::new()?], middle: Lab::new()?, routed };
        if routed {
            place.middle.exec("sysctl", &ROUTER)?;
        }
        for (k, (container, member)) in place.containers.iter().zip(MEMBERS).enumerate() {
            place.middle.plain_veth_to(member, container, INSIDE)?;
            place.middle.ip(&format!("link set {member} mtu {mtu}"))?;
            container.ip(&format!("link set {INSIDE} mtu {mtu}"))?;
            container.ip(&format!("address add {}/24 dev {INSIDE}", place.address(k)))?;
            if routed {
                let gateway = gateway(k);
                place.middle.ip(&format!("address add {gateway}/24 dev {member}"))?;
                container.ip(&format!("route add default via {gateway}"))?;
            }
        }
        Ok(place)
    }

    /// The address of a container, of the block for benchmarks (RFC 2544, C.2.2).
    pub(super) fn address(&self, container: usize) -> Ipv4Addr {
        let network = if self.routed { container as u8 } else { 0 };
        Ipv4Addr::new(198, 18, network, 2 + container as u8)
    }

    /// Where the first container sends what is for the second.
    pub(super) fn next_hop(&self) -> Ipv4Addr {
        if self.routed { gateway(0) } else { self.address(1) }
    }

    /// Sets offloads of the containers' interfaces.
    pub(super) fn offload(&self, setting: [&str; 2]) -> Result<(), Fault> {
        let set = |lab: &Lab| lab.exec("ethtool", &["-K", INSIDE, setting[0], setting[1]]);
        Ok(self.containers.iter().try_for_each(set)?)
    }
}

/// The middle's address in the network of a container that it routes for.
fn gateway(container: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, container as u8, 1)
}
