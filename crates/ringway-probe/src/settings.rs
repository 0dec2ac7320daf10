//! Settings of an interface that stand in the way, and what to set in their place.

use super::Check;
use super::fix::{Change, Fix};
use super::interface::{Interface, Peer};
use super::trial::Trial;

/// Offloads that change frames before XDP sees them, as the kernel and `ethtool -K` call them.
const HARMFUL: [(&str, &str, &str); 3] = [
    ("rx-lro", "lro", "LRO merges frames"),
    ("rx-gro-hw", "rx-gro-hw", "hardware GRO merges frames"),
    ("rx-vlan-hw-parse", "rxvlan", "VLAN tags are taken out of frames before XDP"),
];

/// The filter of VLANs.
const VLAN_FILTER: &str = "rx-vlan-filter";

/// MTU of Ethernet, with which every driver that has XDP takes programs.
const USUAL_MTU: u32 = 1500;

/// Descriptors with which a ring outlives a pause of its CPU: at 10 Gbit/s of the smallest frames 1024 are full after 70 us.
const GOOD_RING: u32 = 1024;

/// `doctor` warns of fewer than these.
const SHORT_RING: u32 = 512;

impl Interface {
    /// What [`Fix`]es would set, in the order in which to apply them.
    #[must_use]
    pub fn fixes(&self) -> Vec<Fix> {
        let all = [
            self.fix_link(),
            self.fix_offloads(),
            self.fix_vlan_filter(),
            self.fix_mtu(),
            self.fix_rings(),
            self.fix_queues(),
        ];
        all.into_iter().flatten().collect()
    }

    fn fix(&self, check: &'static str, commands: [String; 2], change: Change) -> Option<Fix> {
        let [command, restore] = commands;
        Some(Fix { check, command, restore, interface: self.name.clone(), index: self.index, change })
    }

    fn fix_link(&self) -> Option<Fix> {
        let commands = ["up", "down"].map(|to| format!("ip link set {} {to}", self.name));
        if self.up { None } else { self.fix("if-link", commands, Change::Up) }
    }

    /// Offloads of `those`, by both names, that are on and can be turned off.
    fn turn_off(&self, check: &'static str, those: &[(&str, &str)]) -> Option<Fix> {
        let can =
            |(name, _): &&(&str, &str)| self.has(name) && self.settable_offloads.iter().any(|o| o == name);
        let (names, options): (Vec<String>, Vec<&str>) =
            those.iter().filter(can).map(|(name, option)| ((*name).to_owned(), *option)).unzip();
        if names.is_empty() {
            return None;
        }
        let commands = ["off", "on"].map(|to| {
            let options: Vec<String> = options.iter().map(|o| format!("{o} {to}")).collect();
            format!("ethtool -K {} {}", self.name, options.join(" "))
        });
        self.fix(check, commands, Change::Off(names))
    }

    fn has(&self, offload: &str) -> bool {
        self.offloads.iter().any(|o| o == offload)
    }

    fn fix_offloads(&self) -> Option<Fix> {
        self.turn_off("if-offloads", &HARMFUL.map(|(name, option, _)| (name, option)))
    }

    fn fix_vlan_filter(&self) -> Option<Fix> {
        self.turn_off("if-vlan-filter", &[(VLAN_FILTER, VLAN_FILTER)])
    }

    /// Drivers refuse programs for a long MTU.
    fn fix_mtu(&self) -> Option<Fix> {
        let refuses = matches!(self.native, Trial::Refused { error, .. } if error != libc::EOPNOTSUPP);
        if !refuses || self.mtu <= USUAL_MTU || self.has("rx-lro") {
            return None;
        }
        let commands = [USUAL_MTU, self.mtu].map(|mtu| format!("ip link set {} mtu {mtu}", self.name));
        self.fix("if-native-xdp", commands, Change::Mtu(USUAL_MTU))
    }

    fn fix_rings(&self) -> Option<Fix> {
        let (now, most) = (self.ring_sizes?, self.most_ring_sizes?);
        let good = |now: u32, most: u32| if now < SHORT_RING { GOOD_RING.min(most).max(now) } else { now };
        let wanted = (good(now.0, most.0), good(now.1, most.1));
        let commands = [wanted, now].map(|(rx, tx)| format!("ethtool -G {} rx {rx} tx {tx}", self.name));
        if wanted == now { None } else { self.fix("if-rings", commands, Change::Rings(wanted)) }
    }

    /// As many queues as CPUs, where the device has more or fewer and can have others.
    fn fix_queues(&self) -> Option<Fix> {
        let (now, most) = self.channels?;
        // The ends of a veth and a tap are handed frames by their senders: their queues are no matter of CPUs.
        if self.cpus == 0 || self.peer != Peer::None || self.driver == "tun" {
            return None;
        }
        let mut wanted = now;
        for (queues, most) in wanted.iter_mut().zip(most).filter(|(queues, _)| **queues > 0) {
            *queues = self.cpus.min(most).max(1);
        }
        let commands = [wanted, now].map(|queues| {
            let kinds = ["rx", "tx", "combined"].into_iter().zip(queues).filter(|(_, n)| *n > 0);
            let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{kind} {n}")).collect();
            format!("ethtool -L {} {}", self.name, kinds.join(" "))
        });
        if wanted == now { None } else { self.fix("if-queues", commands, Change::Queues(wanted)) }
    }

    pub(super) fn queues(&self) -> Check {
        let what = format!("{} rx and {} tx", self.rx_queues, self.tx_queues);
        let check = Check::new("if-queues", "queues");
        match self.fix_queues() {
            None => check.ok(what),
            Some(fix) if self.rx_queues > self.cpus => {
                check.warn(format!("{what} for {} CPUs: some share a CPU", self.cpus), fix.cure())
            }
            Some(fix) => {
                check.warn(format!("{what} for {} CPUs: not all CPUs can receive", self.cpus), fix.cure())
            }
        }
    }

    pub(super) fn rings(&self) -> Option<Check> {
        let (rx, tx) = self.ring_sizes?;
        let check = Check::new("if-rings", "rings of the device");
        let what = format!("{rx} rx and {tx} tx descriptors");
        Some(match self.fix_rings() {
            None => check.ok(what),
            Some(fix) => check.warn(format!("{what}: full after a short pause of a CPU"), fix.cure()),
        })
    }

    pub(super) fn offload_check(&self) -> Check {
        let check = Check::new("if-offloads", "offloads that change frames");
        let harm: Vec<&str> = HARMFUL.iter().filter(|(name, ..)| self.has(name)).map(|h| h.2).collect();
        match self.fix_offloads() {
            _ if harm.is_empty() => check.ok("off"),
            Some(fix) => check.warn(harm.join("; "), fix.cure()),
            None => check.warn(
                format!("{}, and the driver keeps it so", harm.join("; ")),
                "use packet:, which puts back what was taken out, or another NIC",
            ),
        }
    }

    pub(super) fn vlan_filter(&self) -> Check {
        let check = Check::new("if-vlan-filter", "VLAN filter");
        match self.fix_vlan_filter() {
            _ if !self.has(VLAN_FILTER) => check.ok("off"),
            None => check.ok("on; most drivers turn it off while a port keeps the interface promiscuous"),
            Some(fix) => check
                .warn("on: tagged frames are dropped, with some drivers in promiscuous mode too", fix.cure()),
        }
    }

    /// What drivers refuse zero copy for.
    pub(super) fn cure_of_copies(&self) -> String {
        let otherwise = "frames are copied once otherwise";
        match self.driver.as_str() {
            _ if self.mtu > USUAL_MTU => {
                format!("lower the MTU: `ip link set {} mtu {USUAL_MTU}`; {otherwise}", self.name)
            }
            "virtio_net" => {
                format!("give the virtual NIC `iommu_platform=on` in the hypervisor; {otherwise}")
            }
            _ => format!("see the kernel's log; {otherwise}"),
        }
    }

    /// What drivers refuse programs for, as far as it is the case here.
    pub(super) fn cure_of_refusal(&self) -> String {
        if self.has("rx-lro") {
            return format!("`ethtool -K {} lro off`", self.name);
        }
        match self.fix_mtu() {
            Some(fix) => format!("lower the MTU, which drivers limit under XDP: {}", fix.cure()),
            None => format!(
                "fewer queues may help, since XDP needs some for itself: `ethtool -L {} combined 1`",
                self.name
            ),
        }
    }
}
