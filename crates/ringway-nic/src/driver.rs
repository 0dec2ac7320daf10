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

/// Whether XDP programs of this driver run within polls of the device (NAPI) only. Programs of a tun run in the process that
/// writes to it.
///
/// ```
/// assert!(ringway_nic::receives_in_polls("veth"));
/// assert!(!ringway_nic::receives_in_polls("tun"));
/// ```
#[must_use]
pub fn receives_in_polls(driver: &str) -> bool {
    driver != "tun"
}

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
