//! One interface: what its driver, its far end and the kernel tell about it.

use std::net::IpAddr;

use libbpf_sys as bpf;

use super::link::{self, Link};
use super::trial::Trial;
use ringway_count::listed;
use ringway_nic::{Attached, Hook, attached, programs_of_xdp};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::xdp_query::{self, Xdp};
use ringway_sys::{bpf_probe, net};

/// What is known of an interface: plain data, taken without changing anything.
///
/// Source: rtnetlink(7), linux/ethtool.h, Documentation/netlink/specs/netdev.yaml, bpf(2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Name in the present network namespace.
    pub name: String,
    /// Index in the present network namespace.
    pub index: u32,
    /// Name of the driver; empty when it does not tell.
    pub driver: String,
    /// Hardware type (linux/if_arp.h): 1 for Ethernet, 772 for the loopback interface.
    pub hardware: u16,
    /// Largest payload of a frame in bytes.
    pub mtu: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether frames can pass: up, with a carrier.
    pub running: bool,
    /// Receive queues in use.
    pub rx_queues: u32,
    /// Transmit queues in use.
    pub tx_queues: u32,
    /// Queues in use and the most that the device has, each rx, tx and combined as ethtool(8) counts them.
    pub channels: Option<([u32; 3], [u32; 3])>,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Descriptors of a receive and of a transmit ring of the device.
    pub ring_sizes: Option<(u32, u32)>,
    /// The most of each.
    pub most_ring_sizes: Option<(u32, u32)>,
    /// `NETDEV_XDP_ACT_` bits of linux/netdev.h; `None` when the kernel does not tell, before Linux 6.3.
    pub xdp_features: Option<u64>,
    /// Whether the driver takes an XDP program, if that was tried: [`try_native`](Self::try_native).
    pub native: Trial,
    /// Whether it has zero-copy AF_XDP, if that was tried: [`try_zero_copy`](Self::try_zero_copy).
    pub zero_copy: Trial,
    /// Programs attached to it.
    pub programs: Vec<Attached>,
    /// Names of the offloads that are on, as `ethtool -k` calls them inside the kernel, such as `rx-lro`.
    pub offloads: Vec<String>,
    /// Names of the offloads that can be turned on and off.
    pub settable_offloads: Vec<String>,
    /// The far end of a veth.
    pub peer: Peer,
    /// Ringway ports open on it: name and process.
    pub ports: Vec<(String, u32)>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether a default route leads to it.
    pub default_route: bool,
    /// Names of interfaces that stand on it: the bridge or bond that it is a part of, VLANs, macvlans.
    pub users: Vec<String>,
}

/// `NETDEV_XDP_ACT_` bits of linux/netdev.h.
pub(super) const BASIC: u64 = 1 << 0;
pub(super) const ZERO_COPY: u64 = 1 << 3;
/// `NETDEV_XDP_ACT_NDO_XMIT` of linux/netdev.h: it takes redirected frames.
pub(super) const NDO_XMIT: u64 = 1 << 2;

/// The far end of a veth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// Not a veth.
    #[default]
    None,
    /// In the same network namespace.
    Here {
        /// Its name.
        name: String,
        /// Its transmit queues in use.
        tx_queues: u32,
        /// Offloads that are on.
        offloads: Vec<String>,
        /// Whether a native XDP program is attached to it.
        xdp: bool,
    },
    /// In another one, where it can't be seen.
    Elsewhere,
}

impl Interface {
    /// Whether its driver passes on frames whose checksums a host left unfinished, as software interfaces do.
    #[must_use]
    pub fn leaves_checksums(&self) -> bool {
        ringway_nic::leaves_checksums(&self.driver)
    }

    /// Of a veth, whether its far end runs NAPI, without which it takes no frame that a program redirects. `None`: it is no veth, or that
    /// can't be seen (a far end in another network namespace before Linux 6.3).
    #[must_use]
    pub fn far_end_polls(&self) -> Option<bool> {
        let bit = self.xdp_features.map(|f| f & NDO_XMIT != 0);
        match &self.peer {
            Peer::None => None,
            Peer::Elsewhere => bit,
            // The bit is not taken back when GRO is turned off while the far end is down.
            Peer::Here { offloads, xdp, .. } => {
                Some(bit.unwrap_or(true) && (*xdp || offloads.iter().any(|o| o == "rx-gro")))
            }
        }
    }
}

/// Asks about the interface `name` of the present network namespace.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] when there is none of that name, [`ErrorKind::Io`] when the kernel does not answer.
///
/// ```
/// let lo = ringway_probe::interface("lo")?;
/// assert_eq!((lo.index, lo.hardware), (1, 772));
/// # Ok::<(), ringway_sys::Error>(())
/// ```
pub fn interface(name: &str) -> Result<Interface> {
    ringway_sys::libbpf::quiet();
    let index = net::index(name).map_err(|_| {
        Error::new(ErrorKind::NotFound, name, "there is no such interface in this network namespace")
            .cure("`ip link` lists what there is")
    })?;
    let asking = |e| Error::io(name, "asking about the interface failed", e);
    let link = link::link(index).map_err(asking)?;
    let device = net::Interface::new(index).map_err(asking)?;
    let (rx_queues, tx_queues) = device.queues();
    let xdp = xdp_query::xdp(index).unwrap_or_default();
    let flags = link.flags as i32;
    let offloads = device.offloads().unwrap_or_default();
    let rings = device.rings();
    Ok(Interface {
        index,
        driver: device.driver(),
        hardware: link.hardware,
        mtu: device.mtu().map_err(asking)?,
        up: flags & libc::IFF_UP != 0,
        running: flags & libc::IFF_UP != 0 && flags & libc::IFF_RUNNING != 0,
        rx_queues,
        tx_queues,
        channels: device.channels(),
        cpus: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        ring_sizes: rings.map(|r| r.0),
        most_ring_sizes: rings.map(|r| r.1),
        xdp_features: reported_features(&xdp),
        native: Trial::Untried,
        zero_copy: Trial::Untried,
        programs: programs(index, &xdp),
        offloads: offloads.on,
        settable_offloads: offloads.settable,
        peer: peer(&link),
        ports: ports(index),
        addresses: link::addresses(index).unwrap_or_default(),
        default_route: link::is_default_route(index),
        users: link::users(index).unwrap_or_default(),
        name: link.name,
    })
}

/// Only what [`Interface::xdp_features`] has, of the interface `index`: for those who ask often.
///
/// ```
/// // The driver of the loopback interface has no XDP, where the kernel tells (Linux 6.3).
/// assert_eq!(ringway_probe::xdp_features(1).unwrap_or(0), 0);
/// ```
#[must_use]
pub fn xdp_features(index: u32) -> Option<u64> {
    ringway_sys::libbpf::quiet();
    reported_features(&xdp_query::xdp(index).unwrap_or_default())
}

fn reported_features(xdp: &Xdp) -> Option<u64> {
    (xdp.features != 0 || xdp_query::tells_features()).then_some(xdp.features)
}

fn programs(index: u32, xdp: &Xdp) -> Vec<Attached> {
    let mut all = programs_of_xdp(index, xdp);
    let at_tc = [
        (Hook::Ingress, bpf::BPF_TCX_INGRESS, link::TC_INGRESS),
        (Hook::Egress, bpf::BPF_TCX_EGRESS, link::TC_EGRESS),
    ];
    for (hook, tcx, side) in at_tc {
        all.extend(
            bpf_probe::tcx_programs(index, tcx).unwrap_or_default().into_iter().map(|id| attached(hook, id)),
        );
        let filters = link::tc_filters(index, side).unwrap_or_default();
        all.extend(filters.into_iter().map(|(id, name)| Attached::without_link(hook, id, Some(name))));
    }
    all
}

fn peer(link: &Link) -> Peer {
    let Some(index) = link.below.filter(|_| link.kind == "veth") else { return Peer::None };
    if link.below_elsewhere {
        return Peer::Elsewhere;
    }
    let (Ok(far), Ok(device)) = (link::link(index), net::Interface::new(index)) else {
        return Peer::Elsewhere;
    };
    Peer::Here {
        name: far.name,
        tx_queues: device.queues().1,
        offloads: device.offloads().unwrap_or_default().on,
        xdp: xdp_query::xdp(index).is_ok_and(|x| x.native != 0),
    }
}

fn ports(index: u32) -> Vec<(String, u32)> {
    let Ok(netns) = net::netns_inode() else { return Vec::new() };
    let all = listed(&[]).into_iter().filter(|p| p.is_on(netns, index));
    all.map(|p| (p.name, p.pid)).collect()
}
