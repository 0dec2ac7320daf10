//! What devices there are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::spec::{DutSpec, MOST_FILTERS, MOST_PORTS};
use crate::Fault;

/// Devices that can be set up by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DutKind {
    /// A pair of links and nothing between: what the tester itself can do.
    Veth,
    /// The kernel's bridge.
    LinuxBridge,
    /// The kernel's router.
    LinuxRouter,
    /// The kernel's router, to which the kernel's bridge brings the frames of port 0: two devices, one behind the other.
    LinuxBridgedRouter,
    /// A switch of Ringway with the same links as members: it works in the kernel.
    RingwaySwitch,
    /// Ports of a switch of Ringway: from memory to memory, without links.
    RingwayPorts,
    /// A router of Ringway with the same links as members, by the kernel's tables.
    RingwayRouter,
    /// Open vSwitch with its datapath in user space.
    #[serde(rename = "openvswitch")]
    OpenVSwitch,
}

impl DutKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Veth,
        Self::LinuxBridge,
        Self::LinuxRouter,
        Self::LinuxBridgedRouter,
        Self::RingwaySwitch,
        Self::RingwayPorts,
        Self::RingwayRouter,
        Self::OpenVSwitch,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::LinuxBridge => "linux-bridge",
            Self::LinuxRouter => "linux-router",
            Self::LinuxBridgedRouter => "linux-bridged-router",
            Self::RingwaySwitch => "ringway-switch",
            Self::RingwayPorts => "ringway-ports",
            Self::RingwayRouter => "ringway-router",
            Self::OpenVSwitch => "openvswitch",
        }
    }

    /// Another name of it.
    #[must_use]
    pub fn alias(self) -> Option<&'static str> {
        match self {
            Self::LinuxRouter => Some("linux-forward"),
            Self::OpenVSwitch => Some("ovs"),
            _ => None,
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Veth => "a veth pair and nothing between: calibration",
            Self::LinuxBridge => "the kernel's bridge between veths",
            Self::LinuxRouter => "the kernel's router between veths, IPv4 or IPv6",
            Self::LinuxBridgedRouter => {
                "the kernel's router between veths, one of them behind the kernel's bridge"
            }
            Self::RingwaySwitch => "Ringway's switch in the kernel, veths as members",
            Self::RingwayPorts => "two ports of Ringway's switch, from memory to memory",
            Self::RingwayRouter => "Ringway's router in the kernel, veths as members, by the kernel's tables",
            Self::OpenVSwitch => "Open vSwitch in user space between veths",
        }
    }

    /// Whether frames have to be sent to its link addresses.
    #[must_use]
    pub fn is_router(self) -> bool {
        matches!(self, Self::LinuxRouter | Self::LinuxBridgedRouter | Self::RingwayRouter)
    }

    /// Whether it is reached over links, to which the tester attaches by a [`Backend`](super::Backend).
    #[must_use]
    pub fn has_links(self) -> bool {
        self != Self::RingwayPorts
    }

    /// Whether it has packet filters.
    #[must_use]
    pub fn has_filters(self) -> bool {
        matches!(self, Self::LinuxBridge | Self::LinuxRouter)
    }

    /// Most ports that it has.
    #[must_use]
    pub fn most_ports(self) -> usize {
        if self.is_router() || self == Self::Veth { 2 } else { MOST_PORTS }
    }

    /// Checks a set-up as far as that can be done without making it.
    ///
    /// # Errors
    /// [`Fault::Failed`] with what it does not have.
    pub fn check(self, spec: &DutSpec) -> Result<(), Fault> {
        let most = self.most_ports();
        if !(2..=most).contains(&spec.ports) {
            let range = if most == 2 { "2 ports".to_owned() } else { format!("2 to {most} ports") };
            return Err(Fault::Failed(format!("{self} has {range}, not {}", spec.ports)));
        }
        if spec.filters > 0 && !self.has_filters() {
            let others: Vec<_> = Self::ALL.into_iter().filter(|k| k.has_filters()).map(Self::name).collect();
            return Err(Fault::Failed(format!(
                "{self} has no packet filters; {} have",
                others.join(" and ")
            )));
        }
        if spec.filters > MOST_FILTERS {
            return Err(Fault::Failed(format!("{} filters are more than {MOST_FILTERS}", spec.filters)));
        }
        Ok(())
    }
}

impl fmt::Display for DutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DutKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is = |kind: &Self| kind.name() == text || kind.alias() == Some(text);
        Self::ALL.into_iter().find(is).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{text}' is no device; accepted: {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dut::backend::Backend;

    #[test]
    fn names_are_those_of_the_data() {
        for kind in DutKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!("linux-forward".parse(), Ok(DutKind::LinuxRouter));
        assert_eq!("ovs".parse(), Ok(DutKind::OpenVSwitch));
        assert!("hub".parse::<DutKind>().unwrap_err().contains("accepted: veth, linux-bridge,"));
        for backend in Backend::ALL {
            assert_eq!(backend.name().parse(), Ok(backend));
            assert_eq!(serde_json::to_value(backend).unwrap(), backend.name());
        }
    }

    #[test]
    fn what_a_device_does_not_have_is_refused() {
        let spec = |ports, filters| DutSpec { ports, filters, ..DutSpec::default() };
        let refused =
            |kind: DutKind, ports, filters| kind.check(&spec(ports, filters)).unwrap_err().to_string();
        assert_eq!(DutKind::LinuxBridge.check(&spec(8, 25)), Ok(()));
        assert_eq!(refused(DutKind::LinuxBridge, 9, 0), "linux-bridge has 2 to 8 ports, not 9");
        assert_eq!(refused(DutKind::Veth, 4, 0), "veth has 2 ports, not 4");
        assert_eq!(refused(DutKind::RingwayPorts, 1, 0), "ringway-ports has 2 to 8 ports, not 1");
        assert!(refused(DutKind::RingwaySwitch, 2, 1).ends_with("linux-bridge and linux-router have"));
        assert!(refused(DutKind::LinuxRouter, 2, 5000).contains("more than"));
    }
}
