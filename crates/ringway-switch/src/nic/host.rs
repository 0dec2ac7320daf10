//! The host's side of a NIC: a port of the switch by which the host keeps using the interface.
//!
//! ```text
//! <root>/vale0/
//!     out/8^3                 the program that brings what waits for port 8 into the stack of interface 3
//!     port/eth1^/             as for NICs, and
//!         tcx jump_*          the program that takes what the host sends (tc.rs)
//!         out keep            as of a NIC
//! ```
//!
//! What comes from the wire for it is passed on by the programs of NICs (bpf/nic/host_in.h).

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::interface::Nic;
use super::options::NicOptions;
use super::out;
use super::shared::Shared;
use crate::admin::access::PortAccess;
use crate::admin::module::Module;
use crate::admin::port::SwitchPort;
use crate::admin::switch::Switch;
use crate::layout::{info, port, state};
use crate::pins;
use ringway_nic::tc::{Stand, Way};
use ringway_pinned as pinned;
use ringway_sys::error::{Error, ErrorKind, Result};

impl Switch {
    /// The programs of a host's side know the plain learning bridge only.
    fn check_plain(&self, on: &str) -> Result<()> {
        let refuse = |what: &str, cure: &str| Err(Error::new(ErrorKind::Unsupported, on, what).cure(cure));
        if self.spec().module != Module::Bridge {
            return refuse(
                "the host's side of an interface can be a port of bridges only",
                "leave --host out, or make a switch without --module",
            );
        }
        if let Some(p) = self.ports().iter().find(|p| self.is_configured(p.number)) {
            let what = format!(
                "port {} has VLANs or other features, which the host's side of an interface does not know",
                p.name
            );
            return refuse(&what, "take them off that port, leave --host out, or make another switch");
        }
        Ok(())
    }

    /// Programs clone frames from one interface to another by index, which they can do in one network namespace only.
    pub(super) fn check_hosts(&self, nic: &Nic, options: &NicOptions, on: &str) -> Result<()> {
        if options.host {
            self.check_plain(on)?;
        }
        let ports = self.ports();
        let elsewhere =
            |p: &&SwitchPort| p.nic.is_some() && self.nic_word(p.number, port::NETNS) != nic.netns;
        let far = ports.iter().find(elsewhere);
        let Some(far) = far.filter(|_| options.host || self.has_hosts()) else { return Ok(()) };
        let what = format!(
            "port {} is in another network namespace; where the host has a port all NICs must be in one",
            far.name
        );
        Err(Error::new(ErrorKind::Unfit, on, what)
            .cure("add the interfaces without --host, or move them to one namespace"))
    }

    /// Whether the stack on an interface is a port.
    pub(super) fn has_hosts(&self) -> bool {
        self.ports().iter().any(|p| p.host)
    }

    /// Each NIC has frames of its wire for hosts of others, which a program at its ingress moves.
    fn check_between(&self, on: &str) -> Result<()> {
        let nics = self.ports().into_iter().filter(|p| p.nic.is_some() && !p.host);
        let has = |p: &SwitchPort| Stand::ingress(&pins::port(&self.dir, &p.name)).is_attached();
        let without = nics.into_iter().find(|p| !has(p));
        let Some(nic) = without else { return Ok(()) };
        let what =
            format!("{} has no program between it and the stack, which switches with hosts need", nic.name);
        Err(Error::new(ErrorKind::Unsupported, on, what).cure(format!(
            "`ringway switch port del {0}:{1}` and add it again with --host, which says what lacks",
            self.name, nic.name
        )))
    }

    /// Makes the host's side of a NIC that is a port; leaves nothing half made.
    pub(super) fn add_host(
        &self,
        nic: &Nic,
        shared: &Shared,
        beside: u32,
        interface: &str,
        way: Way,
    ) -> Result<()> {
        let name = format!("{interface}^");
        let on = format!("{}:{name}", self.name);
        self.check_between(&on)?;
        let number = self.make_port(&name, &PortAccess::default(), port::NIC | port::HOST)?;
        let dir = pins::port(&self.dir, &name);
        self.attach_host(nic, shared, (number, beside), (&dir, &on), way)
            .inspect_err(|_| self.remove_host(interface, beside))
    }

    fn attach_host(
        &self,
        nic: &Nic,
        shared: &Shared,
        (number, beside): (u32, u32),
        (dir, on): (&Path, &str),
        way: Way,
    ) -> Result<()> {
        let word = |of: u32, at: usize| self.ports.u32(of as usize * port::SIZE + at);
        for (at, value) in [
            (port::IFINDEX, nic.index),
            (port::NETNS, nic.netns),
            (port::BESIDE, beside),
            (port::SOFTWARE, 1),
            (port::PROMISCUOUS, 0),
        ] {
            word(number, at).store(value, Relaxed);
        }
        let gone = || Error::new(ErrorKind::Gone, on, "the port was deleted meanwhile").cure("add it again");
        self.state_of(number).ok_or_else(gone)?.u32(state::NIC).store(nic.netns, Release);
        let generation = self.info.u32(info::GENERATION).load(Relaxed);
        let [host, inject] = self.load_of(shared, number, generation, ["vale_host", "vale_inject"], on)?;
        out::keep_attached(&inject, dir, on)?;
        self.show_out(&inject, &pins::out_name(number, Some(nic.index)), on)?;
        word(beside, port::BESIDE).store(number, Release);
        Stand::egress(dir).attach(host.as_fd(), nic.index, way, on)
    }

    /// Removes the host's side of a NIC that is to be deleted, if it has one.
    pub(crate) fn del_host(&self, nic: &SwitchPort) -> Result<()> {
        if nic.host {
            let what = "it is the host's side of an interface";
            return Err(Error::new(ErrorKind::Unfit, format!("{}:{}", self.name, nic.name), what)
                .cure("delete the interface: both go"));
        }
        if nic.nic.is_some() {
            self.remove_host(&nic.name, nic.number);
        }
        Ok(())
    }

    /// Found by its name: the process that made it may have been killed before it told either of the other.
    fn remove_host(&self, interface: &str, beside: u32) {
        let name = format!("{interface}^");
        let Some(host) = self.ports().into_iter().find(|p| p.host && p.name == name) else { return };
        self.ports.u32(beside as usize * port::SIZE + port::BESIDE).store(0, Relaxed);
        self.detach_nic(&host);
        self.forget_port(host.number);
        let _ = pinned::discard(&pins::port(&self.dir, &host.name)); // the next one tries again
    }
}
