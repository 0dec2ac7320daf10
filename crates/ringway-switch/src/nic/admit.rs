//! Whether an interface may become a port of a switch.

use super::interface::Nic;
use crate::admin::port::SwitchPort;
use crate::admin::switch::{Switch, switches};
use crate::layout::{nic as at, port};
use crate::nic::{NicOptions, NicPath};
use ringway_count::freed_by;
use ringway_nic::{owner, tc};
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::{bpf, clsact, net, veth, xdp_query};

/// XDP programs of ports, switches and routers, which leave nothing for a program at tc.
const TAKERS: [&str; 4] = ["nic_rx", "to_socket", "vale_wire", "router"];
/// The program of a router at tc.
const ROUTER: &str = "router_tc";

impl Switch {
    /// Other than for XDP, the kernel has nothing against several owners of an interface at tc.
    pub(super) fn check_free(&self, nic: &Nic, by_tc: bool, on: &str) -> Result<()> {
        let is_it = |s: &Self, p: &SwitchPort| {
            p.nic == Some(nic.index) && !p.gone && s.nic_word(p.number, port::NETNS) == nic.netns
        };
        for name in switches() {
            let Ok(other) = Self::open(&name) else { continue }; // a router, or gone by now
            let ports = other.ports();
            let Some(p) = ports.iter().find(|p| is_it(&other, p)) else { continue };
            if by_tc || p.path == Some(NicPath::Tc) {
                let what = format!("the interface is the port {name}:{} already", p.name);
                return Err(Error::new(ErrorKind::Busy, on, what)
                    .cure(format!("`ringway switch port del {name}:{}` first", p.name)));
            }
        }
        let by_xdp = xdp_query::xdp(nic.index).map(|is| bpf::prog_name(is.program)).ok();
        let by_xdp = by_xdp.filter(|name| by_tc && TAKERS.contains(&name.as_str()));
        let at_tc = tc::taker(nic.index).filter(|name| name == ROUTER);
        if let Some(program) = by_xdp.or(at_tc) {
            let what = format!("the program {program} of Ringway takes the interface's frames");
            let cure = owner(nic.netns, nic.index).map_or_else(
                || {
                    let name = net::name(nic.index).unwrap_or_else(|_| "IF".into());
                    format!("`ringway switch list` and `ringway router list` show where it is, `ringway switch port del SWITCH:{name}` or `ringway router port del ROUTER:{name}` frees it")
                },
                |p| freed_by(p.pid),
            );
            return Err(Error::new(ErrorKind::Busy, on, what).cure(cure));
        }
        Ok(())
    }

    /// What a member receives is the switch's: a bridge, or filters of tc, would see nothing of it any more.
    pub(super) fn check_passed_by(
        &self,
        nic: &Nic,
        interface: &str,
        (options, by_tc): (&NicOptions, bool),
        on: &str,
    ) -> Result<()> {
        let asking = |e| Error::io(on, "asking for the interface failed", e);
        let refuse = |what: String, cure: String| Err(Error::new(ErrorKind::Busy, on, what).cure(cure));
        if let Some(master) = veth::master_of(nic.index).map_err(asking)?.filter(|_| !options.host) {
            let master = net::name(master).unwrap_or_else(|_| format!("interface {master}"));
            return refuse(
                format!("{interface} is part of {master}, which would receive nothing from it any more"),
                format!("`ip link set {interface} nomaster` takes it out of {master}"),
            );
        }
        if by_tc && clsact::of_others(nic.index).map_err(asking)? > 0 {
            return refuse(
                format!("frames would go around the filters of tc at the ingress of {interface}"),
                format!(
                    "`tc filter show dev {interface} ingress` lists them, `tc filter del dev {interface} ingress` removes them; `--path xdp` goes around them"
                ),
            );
        }
        Ok(())
    }

    /// With both ends of a veth in a switch, frames go round for ever.
    pub(super) fn check_far_end(&self, nic: &Nic, on: &str) -> Result<()> {
        let Ok(Some((far, number))) = veth::joined_to(nic.index) else { return Ok(()) };
        let is_there = |p: &SwitchPort| {
            let netns = self.nic_word(p.number, port::NETNS);
            let Some(number) = number else { return netns == nic.netns };
            let there = net::find_netns(netns).and_then(|netns| veth::number_of(&netns).ok()?);
            there == Some(number)
        };
        let ports = self.ports();
        let other = ports.iter().find(|p| p.nic == Some(far) && !p.host && !p.gone && is_there(p));
        let Some(other) = other.filter(|_| nic.interface.driver() == "veth") else { return Ok(()) };
        let what = format!("its other end is the port {}:{}: frames would go round", self.name, other.name);
        Err(Error::new(ErrorKind::Unfit, on, what)
            .cure("add one end only: the near one of a container's veth"))
    }

    /// A place in the map of frames to all. There the kernel tells interfaces apart by index alone: that of `nic` is to be in it.
    pub(super) fn free_place(&self, nic: Option<&Nic>, on: &str) -> Result<u32> {
        let bad = |what: &str, cure: &str| Err(Error::new(ErrorKind::Unfit, on, what).cure(cure));
        let nics: Vec<SwitchPort> = self.ports().into_iter().filter(|p| p.nic.is_some() && !p.host).collect();
        let by_xdp = nics.iter().filter(|p| p.path == Some(NicPath::Xdp));
        let far = |n: &Nic, p: &SwitchPort| self.nic_word(p.number, port::NETNS) != n.netns;
        if nic.is_some_and(|n| by_xdp.clone().any(|p| p.nic == Some(n.index) && far(n, p))) {
            return bad(
                "a NIC of another network namespace has the same index",
                "make or move one of them with another: `ip link add index N`, `ip link set IF netns NS index N`",
            );
        }
        let taken: Vec<u32> = nics.iter().map(|p| self.nic_word(p.number, port::PLACE)).collect();
        match (0..at::MAX).find(|p| !taken.contains(p)) {
            Some(place) => Ok(place),
            None => bad("the switch has 64 NICs", "delete one with `ringway switch port del`"),
        }
    }
}

impl Nic {
    /// Addresses are looked for where Ethernet has them.
    pub(super) fn check_kind(&self, name: &str, on: &str) -> Result<()> {
        let kind =
            self.interface.link_type().map_err(|e| Error::io(on, "asking for the interface failed", e))?;
        if kind == libc::ARPHRD_ETHER {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, on, format!("{name} is no Ethernet interface"))
            .cure("use one whose frames begin with Ethernet addresses; `ip link` says link/ether"))
    }
}
