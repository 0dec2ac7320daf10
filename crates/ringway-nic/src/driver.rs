//! What the name of a driver tells.

/// Drivers whose frames come straight from a sender's stack, which leaves checksums to the interface.
const SOFTWARE: [&str; 12] = [
    "veth",
    "tun",
    "virtio_net",
    "bridge",
    "macvlan",
    "ipvlan",
    "vxlan",
    "geneve",
    "netkit",
    "ifb",
    "xen_netfront",
    "hv_netvsc",
];

/// Whether frames from an interface of this driver may have unfinished checksums.
///
/// ```
/// assert!(ringway_nic::leaves_checksums("veth"));
/// assert!(!ringway_nic::leaves_checksums("ixgbe"));
/// ```
#[must_use]
pub fn leaves_checksums(driver: &str) -> bool {
    SOFTWARE.contains(&driver)
}
