//! What the data about an interface mean for packet I/O.

use super::Check;
use super::interface::{Attached, Hook, Interface, Peer};
use super::trial::Trial;

/// `NETDEV_XDP_ACT_` bits of linux/netdev.h.
pub(super) const BASIC: u64 = 1 << 0;
const NDO_XMIT: u64 = 1 << 2;
pub(super) const ZERO_COPY: u64 = 1 << 3;

/// Longest frame that every driver sends from one buffer, and what a frame has beyond the MTU.
const BUFFER: u32 = 2112;
const HEADER: u32 = 18;

/// MTU of Ethernet, with which every driver that has XDP takes programs.
const USUAL_MTU: u32 = 1500;

/// Offloads that change frames before XDP sees them, as the kernel and `ethtool -K` call them.
const HARMFUL: [(&str, &str, &str); 3] = [
    ("rx-lro", "lro", "LRO merges frames"),
    ("rx-gro-hw", "rx-gro-hw", "hardware GRO merges frames"),
    ("rx-vlan-hw-parse", "rxvlan", "VLAN tags are taken out of frames before XDP"),
];

impl Interface {
    /// The findings on it.
    #[must_use]
    pub fn checks(&self) -> Vec<Check> {
        let mut all = vec![
            self.link(),
            self.ethernet(),
            self.native_xdp(),
            self.zero_copy(),
            self.xdp_free(),
            self.takes_frames(),
            self.queues(),
            self.frame_length(),
            self.offloads(),
        ];
        all.extend(self.peer_offloads());
        all.extend([self.tc(), self.ports(), self.host()]);
        all
    }

    fn link(&self) -> Check {
        let check = Check::new("if-link", "link");
        match (self.up, self.running) {
            (true, true) => check.ok("up"),
            (true, false) => {
                check.warn("up, but without a carrier", "plug the cable in, or bring its far end up")
            }
            _ => check.warn("down: no frame passes", format!("`ip link set {} up`", self.name)),
        }
    }

    fn ethernet(&self) -> Check {
        let check = Check::new("if-ethernet", "Ethernet frames");
        match self.hardware {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => check.ok(""),
            n => check.missing(
                format!("none here (hardware type {n}): XDP ports need them"),
                "use an Ethernet interface, such as a tap in place of a tun",
            ),
        }
    }

    fn native_xdp(&self) -> Check {
        let check = Check::new("if-native-xdp", "native XDP");
        match &self.native {
            Trial::Works => return check.ok(format!("driver {}", self.driver)),
            Trial::Refused { error: libc::EOPNOTSUPP, .. } | Trial::Untried => {}
            Trial::Refused { why, .. } => {
                return check.missing(
                    format!("{} refuses programs now: {why}", driver(&self.driver)),
                    self.cure_of_refusal(),
                );
            }
        }
        match (self.told(), &self.peer) {
            (Some(f), _) if f & BASIC != 0 => check.ok(format!("driver {}", self.driver)),
            (Some(_), Peer::Here { name, tx_queues, .. }) => check.missing(
                format!("{name} has {tx_queues} tx queues, more than the {} rx queues here", self.rx_queues),
                format!(
                    "`ethtool -L {name} tx {}`, or `ethtool -L {} rx {tx_queues}`",
                    self.rx_queues, self.name
                ),
            ),
            (Some(_), Peer::Elsewhere) => check.missing(
                format!("the far end has more tx queues than the {} rx queues here", self.rx_queues),
                format!("`ethtool -L PEER tx {}` at the far end", self.rx_queues),
            ),
            (Some(_), Peer::None) => check.missing(
                format!("{} has none", driver(&self.driver)),
                "use a veth, a tap or a NIC whose driver has native XDP; xdp: and packet: work without",
            ),
            (None, _) => check.unknown(
                format!(
                    "{}; this kernel does not tell; not tried{}",
                    driver(&self.driver),
                    self.because_used()
                ),
                format!(
                    "`ringway doctor {} --try`, which may reset the interface, or open ebpf:{0} and see",
                    self.name
                ),
            ),
        }
    }

    /// Why a driver was not tried.
    fn because_used(&self) -> String {
        self.in_use().map_or(String::new(), |why| format!(", since {why}"))
    }

    /// What the driver tells of itself, or what a trial told in its place.
    fn told(&self) -> Option<u64> {
        let refused = matches!(self.native, Trial::Refused { error: libc::EOPNOTSUPP, .. });
        if refused { Some(0) } else { self.xdp_features }
    }

    /// Whether it is known to have no native XDP.
    fn lacks_xdp(&self) -> bool {
        self.told().is_some_and(|f| f & BASIC == 0)
    }

    /// What drivers refuse programs for, as far as it is the case here.
    fn cure_of_refusal(&self) -> String {
        let name = &self.name;
        if self.offloads.iter().any(|o| o == "rx-lro") {
            return format!("`ethtool -K {name} lro off`");
        }
        if self.mtu > USUAL_MTU {
            return format!(
                "lower the MTU, which drivers limit under XDP: `ip link set {name} mtu {USUAL_MTU}`"
            );
        }
        format!("fewer queues may help, since XDP needs some for itself: `ethtool -L {name} combined 1`")
    }

    fn zero_copy(&self) -> Check {
        let check = Check::new("if-zero-copy", "zero-copy AF_XDP");
        match (&self.zero_copy, self.xdp_features) {
            (Trial::Works, _) => check.ok(format!("driver {}", self.driver)),
            (Trial::Refused { why, .. }, Some(_)) => check.missing(
                format!("driver {} says that it has it, and refuses it: {why}", self.driver),
                match self.driver.as_str() {
                    "virtio_net" => "give the virtual NIC `iommu_platform=on` in the hypervisor; frames are copied once otherwise",
                    _ => "see the kernel's log; frames are copied once otherwise",
                },
            ),
            (Trial::Refused { .. }, None) => check.missing(
                format!("{} has none", driver(&self.driver)),
                "use a NIC whose driver has it; frames are copied once otherwise",
            ),
            (Trial::Untried, Some(f)) if f & ZERO_COPY != 0 => check.warn(
                format!("driver {} says that it has it; not tried{}", self.driver, self.because_used()),
                format!("`ringway doctor {} --try`, which may reset the interface, or open auto:{0} and see", self.name),
            ),
            (Trial::Untried, Some(_)) => check.missing(
                format!("{} has none", driver(&self.driver)),
                "use a NIC whose driver has it; frames are copied once otherwise",
            ),
            (Trial::Untried, None) => check.unknown("this kernel does not tell", "use Linux 6.3 or later"),
        }
    }

    fn xdp_free(&self) -> Check {
        let check = Check::new("if-xdp-free", "XDP hook is free");
        let Some(other) = self.programs.iter().find(|p| p.hook.is_xdp()) else { return check.ok("") };
        if let Some((port, pid)) = self.ports.iter().find(|(p, _)| !p.ends_with('^')) {
            return check.missing(format!("pid {pid} has {port} open"), format!("end process {pid}"));
        }
        if other.name.as_deref() == Some("xdp_dispatcher") {
            let what = format!("libxdp's dispatcher (program {}) is attached", other.id);
            return check.missing(what, format!("`xdp-loader unload {} --all`", self.name));
        }
        check.missing(
            format!("{} is attached", describe(other)),
            format!("end its owner, or `ip link set dev {} xdp off`", self.name),
        )
    }

    /// Whether the interface sends what a program redirects to it. Drivers of NICs often set the bit only when an XDP
    /// program is attached, so that its absence tells nothing there.
    fn takes_frames(&self) -> Check {
        let check = Check::new("if-takes-frames", "takes frames from eBPF");
        let bit = self.xdp_features.map(|f| f & NDO_XMIT != 0);
        let napi = match (&self.peer, bit) {
            _ if self.lacks_xdp() => {
                return check.missing("not without native XDP", "cure that first, or use xdp: or packet:");
            }
            // The bit of a veth is not taken back when GRO is turned off while the far end is down.
            (Peer::Here { offloads, xdp, .. }, bit) => {
                Some(bit.unwrap_or(true) && (*xdp || offloads.iter().any(|o| o == "rx-gro")))
            }
            (_, Some(true)) => Some(true),
            (Peer::None, _) => {
                return check.unknown("the driver tells when a program is attached", "open the port and see");
            }
            (Peer::Elsewhere, bit) => bit,
        };
        let far = match &self.peer {
            Peer::Here { name, .. } => name.as_str(),
            _ => "PEER",
        };
        let cure = format!("`ethtool -K {far} gro on` at the far end, or open an ebpf: port there first");
        match napi {
            Some(true) => check.ok(""),
            Some(false) => check
                .warn("the far end does not run NAPI, so ebpf: ports send by AF_XDP, which is slower", cure),
            None => check.unknown("the far end is in another network namespace and can't be seen", cure),
        }
    }

    fn queues(&self) -> Check {
        let rings =
            self.ring_sizes.map_or(String::new(), |(rx, tx)| format!("; rings of {rx} and {tx} descriptors"));
        Check::new("if-queues", "queues")
            .ok(format!("{} rx and {} tx{rings}", self.rx_queues, self.tx_queues))
    }

    fn frame_length(&self) -> Check {
        let check = Check::new("if-mtu", "MTU");
        let chains = matches!(self.driver.as_str(), "veth" | "tun");
        if self.mtu.saturating_add(HEADER) <= BUFFER || chains || self.lacks_xdp() {
            return check.ok(self.mtu.to_string());
        }
        check.warn(
            format!("{}: ebpf: ports send no frame longer than {BUFFER} bytes here", self.mtu),
            format!("`ip link set {} mtu {}`", self.name, BUFFER - HEADER),
        )
    }

    fn offloads(&self) -> Check {
        let check = Check::new("if-offloads", "offloads that change frames");
        let on = HARMFUL.iter().filter(|(name, ..)| self.offloads.iter().any(|o| o == name));
        let (harm, off): (Vec<&str>, Vec<String>) =
            on.map(|(_, option, harm)| (*harm, format!("{option} off"))).unzip();
        if harm.is_empty() {
            return check.ok("off");
        }
        check.warn(harm.join("; "), format!("`ethtool -K {} {}`", self.name, off.join(" ")))
    }

    /// A veth hands over what the far end's stack left to hardware that does not exist.
    fn peer_offloads(&self) -> Option<Check> {
        let check = Check::new("if-peer-offloads", "checksums of the far end");
        match &self.peer {
            Peer::None => None,
            Peer::Here { name, offloads, .. } => {
                let unfinished = offloads.iter().any(|o| o.starts_with("tx-checksum"));
                let what = format!("{name} leaves those of its own stack unfinished, and ports finish them");
                Some(if unfinished { check.ok(what) } else { check })
            }
            Peer::Elsewhere => {
                Some(check.ok("it is in another network namespace; what it leaves, ports finish"))
            }
        }
    }

    fn tc(&self) -> Check {
        let check = Check::new("if-tc", "no programs at tc");
        let all: Vec<String> = self.programs.iter().filter(|p| !p.hook.is_xdp()).map(describe).collect();
        if all.is_empty() {
            return check.ok("");
        }
        let cure = format!("if that is not wanted, see `bpftool net show dev {}`", self.name);
        check.warn(format!("{}: it may change what the host sends and receives", all.join(", ")), cure)
    }

    fn ports(&self) -> Check {
        let check = Check::new("if-ports", "no Ringway port is open here");
        let all: Vec<String> =
            self.ports.iter().map(|(name, pid)| format!("pid {pid} has {name} open")).collect();
        if all.is_empty() {
            return check.ok("");
        }
        check.warn(all.join(", "), "end those processes first; `ringway stats` shows what they do")
    }

    fn host(&self) -> Check {
        let check = Check::new("if-host", "not needed by the host");
        let mut why: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        if self.default_route {
            why.push("the default route".into());
        }
        if why.is_empty() {
            return check.ok("");
        }
        check.warn(
            format!("it carries {}: a port that takes all frames cuts the host off", why.join(", ")),
            format!("use another interface, or `ringway bridge -i ebpf:{0} -i ebpf:{0}^`", self.name),
        )
    }
}

/// What has or lacks a feature.
fn driver(name: &str) -> String {
    if name.is_empty() { "this kind of interface".to_owned() } else { format!("driver {name}") }
}

fn describe(p: &Attached) -> String {
    let hook = match p.hook {
        Hook::XdpNative => "native XDP",
        Hook::XdpGeneric => "generic XDP",
        Hook::XdpOffloaded => "offloaded XDP",
        Hook::Ingress => "tc ingress",
        Hook::Egress => "tc egress",
    };
    let name = p.name.as_deref().map_or(String::new(), |n| format!(" {n}"));
    format!("{hook} program {}{name}", p.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Status;

    fn veth() -> Interface {
        let gro = vec!["rx-gro".to_owned()];
        let far = Peer::Here { name: "a1".into(), tx_queues: 1, offloads: gro, xdp: false };
        Interface {
            name: "a0".into(),
            index: 7,
            driver: "veth".into(),
            hardware: libc::ARPHRD_ETHER,
            mtu: 1500,
            up: true,
            running: true,
            rx_queues: 1,
            tx_queues: 1,
            xdp_features: Some(BASIC | NDO_XMIT),
            peer: far,
            ..Interface::default()
        }
    }

    fn nic(features: Option<u64>) -> Interface {
        Interface { driver: "ice".into(), xdp_features: features, peer: Peer::None, ..veth() }
    }

    /// What is not well, with its status and cure.
    fn found(i: &Interface) -> Vec<(&'static str, Status, String)> {
        let checks = i.checks();
        assert!(checks.iter().all(|c| (c.status == Status::Ok) == c.cure.is_none()), "{checks:?}");
        let bad = checks.into_iter().filter(|c| c.status != Status::Ok);
        bad.map(|c| (c.id, c.status, format!("{}; {}", c.detail, c.cure.unwrap()))).collect()
    }

    fn refused(error: i32) -> Trial {
        Trial::Refused { error, why: "its words".into() }
    }

    fn attached(hook: Hook, name: &str) -> Attached {
        Attached { hook, id: 17, name: (!name.is_empty()).then(|| name.to_owned()) }
    }

    #[test]
    fn each_state_has_its_finding() {
        let xdp = |name| Interface { programs: vec![attached(Hook::XdpNative, name)], ..veth() };
        let mine = Interface { ports: vec![("ebpf:a0".into(), 99)], ..xdp("nic_rx") };
        let many = Peer::Here { name: "a1".into(), tx_queues: 4, offloads: vec![], xdp: false };
        let offloads = vec!["rx-lro".to_owned(), "rx-vlan-hw-parse".into(), "tx-lockless".into()];
        let cases = [
            (Interface { up: false, running: false, ..veth() }, "if-link", "ip link set a0 up"),
            (Interface { running: false, ..veth() }, "if-link", "without a carrier"),
            (Interface { hardware: 65534, ..veth() }, "if-ethernet", "hardware type 65534"),
            (Interface { xdp_features: Some(NDO_XMIT), ..nic(None) }, "if-native-xdp", "driver ice has none"),
            (
                Interface { xdp_features: Some(0), peer: many.clone(), ..veth() },
                "if-native-xdp",
                "`ethtool -L a1 tx 1`",
            ),
            (
                Interface { xdp_features: Some(0), peer: Peer::Elsewhere, ..veth() },
                "if-native-xdp",
                "far end has more",
            ),
            (nic(None), "if-native-xdp", "does not tell"),
            (
                Interface { native: refused(libc::EINVAL), mtu: 9000, ..nic(Some(BASIC)) },
                "if-native-xdp",
                "driver ice refuses programs now: its words; lower the MTU, which drivers limit under XDP: `ip link set a0 mtu 1500`",
            ),
            (
                Interface {
                    native: refused(libc::EINVAL),
                    offloads: vec!["rx-lro".into()],
                    ..nic(Some(BASIC))
                },
                "if-native-xdp",
                "`ethtool -K a0 lro off`",
            ),
            (
                Interface { native: refused(libc::ENOSPC), ..nic(Some(BASIC)) },
                "if-native-xdp",
                "fewer queues",
            ),
            (
                Interface { native: refused(libc::EOPNOTSUPP), ..nic(None) },
                "if-native-xdp",
                "driver ice has none",
            ),
            (
                Interface {
                    zero_copy: refused(libc::EINVAL),
                    driver: "virtio_net".into(),
                    ..nic(Some(ZERO_COPY))
                },
                "if-zero-copy",
                "virtio_net says that it has it, and refuses it: its words; give the virtual NIC `iommu_platform=on`",
            ),
            (
                Interface { zero_copy: refused(libc::EOPNOTSUPP), ..nic(None) },
                "if-zero-copy",
                "driver ice has none",
            ),
            (
                Interface { users: vec!["br0".into()], ..nic(Some(ZERO_COPY)) },
                "if-zero-copy",
                "not tried, since br0 uses it; `ringway doctor a0 --try`",
            ),
            (veth(), "if-zero-copy", "driver veth has none"),
            (xdp("other"), "if-xdp-free", "native XDP program 17 other is attached; end its owner"),
            (xdp(""), "if-xdp-free", "native XDP program 17 is attached"),
            (xdp("xdp_dispatcher"), "if-xdp-free", "xdp-loader unload a0"),
            (mine.clone(), "if-xdp-free", "pid 99 has ebpf:a0 open; end process 99"),
            (mine, "if-ports", "pid 99 has ebpf:a0 open"),
            (Interface { xdp_features: Some(BASIC), ..veth() }, "if-takes-frames", "`ethtool -K a1 gro on`"),
            (
                Interface { xdp_features: None, peer: many.clone(), ..veth() },
                "if-takes-frames",
                "does not run NAPI",
            ),
            (Interface { peer: many.clone(), ..veth() }, "if-takes-frames", "does not run NAPI"),
            (
                Interface { xdp_features: None, peer: Peer::Elsewhere, ..veth() },
                "if-takes-frames",
                "can't be seen",
            ),
            (nic(Some(BASIC)), "if-takes-frames", "when a program is attached"),
            (Interface { mtu: 9000, ..nic(Some(BASIC)) }, "if-mtu", "`ip link set a0 mtu 2094`"),
            (Interface { offloads, ..veth() }, "if-offloads", "`ethtool -K a0 lro off rxvlan off`"),
            (
                Interface { programs: vec![attached(Hook::Egress, "shape")], ..veth() },
                "if-tc",
                "tc egress program 17 shape",
            ),
            (
                Interface { addresses: vec!["10.0.0.1".parse().unwrap()], default_route: true, ..veth() },
                "if-host",
                "it carries 10.0.0.1, the default route",
            ),
        ];
        for (interface, id, text) in cases {
            let all = found(&interface);
            assert!(all.iter().any(|(i, _, t)| *i == id && t.contains(text)), "{id} {text}: {all:?}");
        }
        let old = found(&Interface { xdp_features: None, ..veth() });
        assert!(!old.iter().any(|(id, ..)| *id == "if-takes-frames"), "{old:?}");
    }

    #[test]
    fn a_good_interface_has_nothing_to_cure_but_copies() {
        assert_eq!(
            found(&veth()).into_iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(),
            [("if-zero-copy", Status::Missing)]
        );
        let good = nic(Some(BASIC | NDO_XMIT | ZERO_COPY));
        assert!(found(&Interface { native: Trial::Works, zero_copy: Trial::Works, ..good }).is_empty());
        assert!(found(&Interface { mtu: 9000, ..veth() }).iter().all(|f| f.0 == "if-zero-copy"));
        let host = Interface { ports: vec![("ebpf:a0^".into(), 5)], ..veth() };
        assert!(found(&host).iter().all(|f| f.0 != "if-xdp-free"));
    }
}
