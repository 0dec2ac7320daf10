//! Containers as they come: namespaces with `eth0` at the kernel's defaults, whose near ends are members of a switch.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ringway::switch::{NicPath, SwitchSpec};
use ringway_lab::Lab;

use super::members::{add_by, stats};
use super::switch::Temporary;
use super::{new_lab, output};

/// Hosts with eth0 at 10.0.0.1, 10.0.0.2 and so on, with the kernel's defaults, joined to n1, n2... in the middle.
pub(crate) struct Containers {
    pub(crate) hosts: Vec<Lab>,
    pub(crate) middle: Lab,
    pub(crate) switch: Temporary,
}

impl Containers {
    /// Members of a new switch; `None`, with a loud word, when the process is not root.
    pub(crate) fn new(count: usize, mtu: u32) -> Option<Self> {
        let all = Self::beside(count, mtu, Temporary::new(&SwitchSpec::default())?)?;
        for i in 1..=count {
            add_by(&all.middle, all.switch.name(), &format!("n{i}"), NicPath::Auto).unwrap();
        }
        Some(all)
    }

    /// The same of which none is a member yet.
    pub(crate) fn beside(count: usize, mtu: u32, switch: Temporary) -> Option<Self> {
        let hosts: Vec<Lab> = (0..count).map(|_| new_lab()).collect::<Option<_>>()?;
        let middle = new_lab()?;
        (1..).zip(&hosts).for_each(|(i, host)| attach(host, &middle, i, mtu));
        Some(Self { hosts, middle, switch })
    }

    /// Frames that a member brought into the switch.
    pub(crate) fn number(&self, name: &str) -> u64 {
        stats(&self.switch, name).counters.tx.frames_in
    }
}

/// The address of a host.
pub(crate) fn address(i: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, i as u8)
}

/// A container's veth, as tools make it.
pub(crate) fn attach(host: &Lab, middle: &Lab, i: usize, mtu: u32) {
    host.ip(&format!("link add eth0 mtu {mtu} type veth peer name n{i} mtu {mtu} netns {}", middle.name()))
        .unwrap();
    host.ip(&format!("addr add 10.0.0.{i}/24 dev eth0")).unwrap();
    host.ip("link set eth0 up").unwrap();
    middle.ip(&format!("link set n{i} up")).unwrap();
}

/// Frames that an interface received.
pub(crate) fn received(lab: &Lab, interface: &str) -> u64 {
    let path = format!("/sys/class/net/{interface}/statistics/rx_packets");
    output(lab, "cat", &[&path]).trim().parse().unwrap()
}

/// Tells threads to end, also when the test fails.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
