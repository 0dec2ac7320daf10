//! What the data about an interface mean for packet I/O.

use super::Check;
use super::interface::{BASIC, Interface, NDO_XMIT, Peer, ZERO_COPY};
use super::trial::Trial;
use ringway_count::freed_by;
use ringway_nic::Attached;

/// Longest frame that every driver sends from one buffer, and what a frame has beyond the MTU.
const BUFFER: u32 = 2112;
const HEADER: u32 = 18;

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
            self.offload_check(),
            self.vlan_filter(),
        ];
        all.extend(self.rings());
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
        match (self.xdp_features_known(), &self.peer) {
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

    /// The XDP features that the driver reports, or that a trial found instead.
    fn xdp_features_known(&self) -> Option<u64> {
        let refused = matches!(self.native, Trial::Refused { error: libc::EOPNOTSUPP, .. });
        if refused { Some(0) } else { self.xdp_features }
    }

    /// Whether it is known to have no native XDP.
    fn lacks_xdp(&self) -> bool {
        self.xdp_features_known().is_some_and(|f| f & BASIC == 0)
    }

    fn zero_copy(&self) -> Check {
        let check = Check::new("if-zero-copy", "zero-copy AF_XDP");
        match (&self.zero_copy, self.xdp_features) {
            (Trial::Works, _) => check.ok(format!("driver {}", self.driver)),
            (Trial::Refused { why, .. }, Some(_)) => check.missing(
                format!("driver {} says that it has it, and refuses it: {why}", self.driver),
                self.cure_of_copies(),
            ),
            (Trial::Refused { .. }, None) => check.missing(
                format!("{} has none", driver(&self.driver)),
                "use a NIC whose driver has it; frames are copied once otherwise",
            ),
            (Trial::Untried, Some(f)) if f & ZERO_COPY != 0 => check.warn(
                format!("driver {} says that it has it; not tried{}", self.driver, self.because_used()),
                format!(
                    "`ringway doctor {} --try`, which may reset the interface, or open auto:{0} and see",
                    self.name
                ),
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
            return check.missing(format!("pid {pid} has {port} open"), freed_by(*pid));
        }
        let what = match other.name.as_deref() {
            Some("xdp_dispatcher") => format!("libxdp's dispatcher (program {}) is attached", other.id),
            _ => format!("{} is attached", other),
        };
        check.missing(what, other.removal(&self.name))
    }

    /// Whether the interface sends what a program redirects to it. Drivers of NICs often set the bit only when an XDP
    /// program is attached, so that its absence tells nothing there.
    fn takes_frames(&self) -> Check {
        let check = Check::new("if-takes-frames", "takes frames from eBPF");
        if self.lacks_xdp() {
            return check.missing("not without native XDP", "cure that first, or use xdp: or packet:");
        }
        if self.peer == Peer::None {
            return match self.xdp_features {
                Some(features) if features & NDO_XMIT != 0 => check.ok(""),
                _ => check.unknown("the driver tells when a program is attached", "open the port and see"),
            };
        }
        let far = match &self.peer {
            Peer::Here { name, .. } => name.as_str(),
            _ => "PEER",
        };
        let cure = format!("`ethtool -K {far} gro on` at the far end, or open an ebpf: port there first");
        match self.far_end_polls() {
            Some(true) => check.ok(""),
            Some(false) => check
                .warn("the far end does not run NAPI, so ebpf: ports send by AF_XDP, which is slower", cure),
            None => check.unknown("the far end is in another network namespace and can't be seen", cure),
        }
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

    /// A veth hands over what the far end's stack left to hardware that does not exist.
    fn peer_offloads(&self) -> Option<Check> {
        let check = Check::new("if-peer-offloads", "checksums of the far end");
        match &self.peer {
            Peer::None => None,
            Peer::Here { name, offloads, .. } => {
                let unfinished = offloads.iter().any(|o| o.starts_with("tx-checksum"));
                let what =
                    format!("{name} leaves checksums of its own stack unfinished, and ports finish them");
                Some(if unfinished { check.ok(what) } else { check })
            }
            Peer::Elsewhere => {
                Some(check.ok("it is in another network namespace; what it leaves, ports finish"))
            }
        }
    }

    fn tc(&self) -> Check {
        let check = Check::new("if-tc", "no programs at tc");
        let all: Vec<String> =
            self.programs.iter().filter(|p| !p.hook.is_xdp()).map(Attached::to_string).collect();
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
        // Beside generic XDP there are no host rings.
        let bridge = match self.lacks_xdp() {
            true => String::new(),
            false => format!(", or `ringway bridge -i ebpf:{0} -i ebpf:{0}^`", self.name),
        };
        check.warn(
            format!("it carries {}: a port that takes all frames cuts the host off", why.join(", ")),
            format!("use another interface{bridge}"),
        )
    }
}

/// What has or lacks a feature.
fn driver(name: &str) -> String {
    if name.is_empty() { "this kind of interface".to_owned() } else { format!("driver {name}") }
}

#[cfg(test)]
mod tests;
