//! Interfaces made ports of a switch.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::MEMBER_NEEDS;
use super::crossing::{self, crossing_stand};
use super::interface::Nic;
use super::options::NicOptions;
use super::out;
use super::programs::RELEASED;
use super::shared::Shared;
use crate::admin::access::PortAccess;
use crate::admin::switch::Switch;
use crate::layout::{info, port, state};
use crate::pins;
use ringway_nic::leaves_checksums;
use ringway_nic::tc::{Stand, Way};
use ringway_nic::{DRV_MODE, attach_xdp, xdp_refused};
use ringway_pinned as pinned;
use ringway_sys::capability::need;
use ringway_sys::error::{Error, ErrorKind, Result};
use ringway_sys::{bpffs, veth};

impl Switch {
    /// Makes an interface of the present network namespace a port of its own name; returns its number.
    /// [`enter_netns`](ringway_sys::netns::enter_netns) goes to others.
    ///
    /// All that the interface receives enters the switch, as if a port had sent it, and what the switch has for the port leaves
    /// by the interface. The host's own stack receives nothing from it any more, unless [`add_nic_with`](Self::add_nic_with) makes
    /// it a port, too. Frames between NICs are moved by the kernel alone, also when no process of Ringway lives. The interface
    /// becomes promiscuous.
    ///
    /// Frames from virtual ports wait in the port's rx ring until their sender's sync sends them. When the sender dies in
    /// between, they leave with the next frames that any port sends to the interface. The order of one sender's frames holds
    /// unless several send to the interface at the same moment. Then one may send frames for another, which may arrive up to 64
    /// frames off.
    ///
    /// Programs drop frames from virtual ports as `too_long` when they have more than 3300 bytes, and drivers drop frames above
    /// the MTU as `device_refused`. A frame to all in several pieces (an MTU above some 3500) is `too_long` when the switch has
    /// more than two NICs.
    ///
    /// Hosts behind a veth, tap or other software interface leave the checksums of TCP and UDP unfinished, and programs finish
    /// them. In frames in several pieces that go on to another NIC they can't: these are dropped as `bad_offload`. Nor do they
    /// behind extension headers of IPv6 or two VLAN tags.
    ///
    /// Software interfaces, and those without native XDP, get in and out by tc ([`NicPath`](crate::NicPath)). What follows is of members
    /// by XDP; by tc frames of any length and with anything unfinished pass between members.
    ///
    /// A veth whose far end runs no NAPI takes no frame from the switch: `device_refused`. `ethtool -K PEER gro on` turns it on, and
    /// `ringway doctor` tells.
    ///
    /// A NIC has the same settings as other ports ([`PortConf`](crate::PortConf)): VLANs, isolation, storm limits, a
    /// mirror; and it can be the mirror of others. It then loses frames as `no_memory` when a driver leaves no room before them
    /// for a tag and 72 bytes of metadata. As a mirror it gets at most 7 copies of a frame that came from a NIC (`device_full`),
    /// and none of one in several pieces (`too_long`).
    ///
    /// Tags must be in the frames. Where a driver, or the host behind a veth, keeps them beside the bytes, frames seem untagged.
    /// Turn that off with `ethtool -K IF rxvlan off`, and in such hosts with `ethtool -K IF txvlan off`.
    ///
    /// # Errors
    /// * [`ErrorKind::NotFound`] and [`ErrorKind::LinkDown`].
    /// * [`ErrorKind::Unsupported`] when it is no Ethernet interface.
    /// * [`ErrorKind::Busy`] when another program takes its frames, another switch has it, it is part of a bridge or the like, or
    ///   there is a port of that name. By tc also when others have filters at its ingress, which frames would go around.
    /// * [`ErrorKind::Unfit`] when the kernel's verifier refuses the switch's module in the program of a NIC. Also when the switch
    ///   has 64 NICs, or one of the same index in another namespace.
    ///
    /// Nothing half made stays.
    ///
    /// ```no_run
    /// let switch = ringway_switch::Switch::open("vale0")?;
    /// switch.add_nic("eth1")?;
    /// switch.add_nic("eth2")?;
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    pub fn add_nic(&self, interface: &str) -> Result<u32> {
        self.add_nic_with(interface, &NicOptions::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As [`add_nic`](Self::add_nic). With [`NicOptions::host`] also [`ErrorKind::Unfit`] when another NIC of the switch is in
    /// another network namespace. [`ErrorKind::Unsupported`] when the switch is no bridge, or has a port with VLANs or other
    /// features.
    ///
    /// ```no_run
    /// use ringway_switch::{NicOptions, Switch};
    /// // The host keeps its address on eth1.
    /// Switch::open("vale0")?.add_nic_with("eth1", &NicOptions { host: true, ..NicOptions::default() })?;
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    pub fn add_nic_with(&self, interface: &str, options: &NicOptions) -> Result<u32> {
        self.add_nic_as(interface, interface, options)
    }

    /// The same for a port that has another name than the interface: interfaces of several namespaces may be called alike.
    ///
    /// # Errors
    /// As [`add_nic_with`](Self::add_nic_with); [`ErrorKind::BadName`] for what is no name of a port.
    ///
    /// ```no_run
    /// use ringway_sys::lasting_netns::LastingNetns;
    /// let switch = ringway_switch::Switch::open("vale0")?;
    /// for name in ["web", "db"] {
    ///     LastingNetns::open(name)?.run(|| switch.add_nic_as(name, "eth0", &Default::default()))?;
    /// }
    /// # Ok::<(), ringway_sys::Error>(())
    /// ```
    pub fn add_nic_as(&self, port: &str, interface: &str, options: &NicOptions) -> Result<u32> {
        let number = self.add_nic_by((port, interface), options, Way::Best)?;
        self.stay();
        Ok(number)
    }

    /// The same, without a word about how long the switch stays.
    pub(crate) fn add_best_nic(&self, interface: &str, options: &NicOptions) -> Result<u32> {
        self.add_nic_by((interface, interface), options, Way::Best)
    }

    /// The same, as on kernels without tcx, by clsact: for tests on others.
    ///
    /// # Errors
    /// As [`add_nic_with`](Self::add_nic_with).
    #[doc(hidden)]
    pub fn add_nic_by_clsact(&self, interface: &str, options: &NicOptions) -> Result<u32> {
        self.add_nic_by((interface, interface), options, Way::Clsact)
    }

    /// `names`: of the port, and of the interface.
    fn add_nic_by(&self, names: (&str, &str), options: &NicOptions, way: Way) -> Result<u32> {
        let (port, interface) = names;
        let on = format!("{}:{port}", self.name);
        let nic = Nic::find(interface, &on)?;
        nic.check_kind(interface, &on)?;
        need(&MEMBER_NEEDS, "adding an interface to a switch", &on)?;
        let _lock = self.lock()?;
        self.check_hosts(&nic, options, &on)?;
        let by_tc = options.starts_by_tc(&nic.interface.driver(), &on)?;
        self.check_free(&nic, by_tc, &on)?;
        self.check_far_end(&nic, &on)?;
        match self.add_member(&nic, names, (options, way, by_tc), &on) {
            Err(e) if e.kind() == ErrorKind::Unsupported && !by_tc && options.may_fall_back() => {
                self.add_member(&nic, names, (options, way, true), &on)
            }
            added => added,
        }
    }

    fn add_member(
        &self,
        nic: &Nic,
        (name, interface): (&str, &str),
        (options, way, by_tc): (&NicOptions, Way, bool),
        on: &str,
    ) -> Result<u32> {
        self.check_passed_by(nic, interface, (options, by_tc), on)?;
        let place = self.free_place((!by_tc).then_some(nic), on)?;
        let shared = Shared::of(&self.dir, on)?;
        let number = self.make_port(name, &PortAccess::default(), port::NIC)?;
        let dir = pins::port(&self.dir, name);
        let attached = self.attach(nic, &shared, (number, place), (&dir, on), (options, way, by_tc));
        let all = attached.and_then(|()| match options.host {
            true => self.add_host(nic, &shared, number, name, way),
            false => Ok(()),
        });
        all.inspect_err(|_| {
            if let Some(p) = self.ports().into_iter().find(|p| p.number == number) {
                self.detach_nic(&p);
            }
            self.forget_port(number);
            let _ = pinned::discard(&dir); // the next one tries again
        })?;
        Ok(number)
    }

    fn attach(
        &self,
        nic: &Nic,
        shared: &Shared,
        (number, place): (u32, u32),
        (dir, on): (&Path, &str),
        (options, way, by_tc): (&NicOptions, Way, bool),
    ) -> Result<()> {
        self.record_nic(nic, (number, place), (options, by_tc), on)?;
        let generation = self.info.u32(info::GENERATION).load(Relaxed);
        let programs = self.load_nic(shared, (number, by_tc), generation, on)?;
        self.count_taken(shared, generation, on)?;
        if !self.dir.join(RELEASED).exists() {
            self.watch_pools(shared, generation, on)?;
        }
        let kept = out::keep_attached(&programs.out, dir, on)?;
        self.show_out(&programs.out, &pins::out_name(number, None), on)?;
        let between = || Stand::ingress(dir).attach(programs.between.as_fd(), nic.index, way, on);
        // It serves hosts' sides: a switch without needs none.
        if !by_tc
            && let Err(e) = between()
            && (e.kind() != ErrorKind::Unsupported || options.host || self.has_hosts())
        {
            return Err(e);
        }
        shared.set_tc_interface(number, nic.index, on)?;
        self.make_promiscuous(nic, number, on)?;
        let wire = |device: (u32, u32)| {
            shared.set_interface(number, place, device, on)?;
            shared.edges.set_entries((number, place), device.1, programs.edge.as_fd(), on)?;
            let wire = attach_xdp(programs.wire.as_fd(), device, DRV_MODE)
                .map_err(|e| options.refused(xdp_refused(on, device, &nic.interface, e)))?;
            bpffs::pin(wire.as_fd(), &dir.join("xdp")).map_err(|e| Error::io(on, "pinning failed", e))
        };
        let Some(cross) = &programs.cross else { return wire((nic.netns, nic.index)) };
        let outer = self.make_crossing(&kept, (number, on))?;
        crossing::join(&kept, (number, on), wire)?;
        crossing_stand(dir).attach(cross.as_fd(), outer, way, on)?;
        between()
    }

    /// Notes what a port is that is a NIC.
    fn record_nic(
        &self,
        nic: &Nic,
        (number, place): (u32, u32),
        (options, by_tc): (&NicOptions, bool),
        on: &str,
    ) -> Result<()> {
        let software = !by_tc && leaves_checksums(&nic.interface.driver());
        let cut = options.cut() as u32;
        for (at, value) in [
            (port::IFINDEX, nic.index),
            (port::NETNS, nic.netns),
            (port::PLACE, place),
            (port::SOFTWARE, u32::from(software) | cut << port::CUT_SHIFT),
            (port::PROMISCUOUS, 0),
            (port::BESIDE, 0),
            (port::CROSSING, 0),
        ] {
            self.port_word(number, at).store(value, Relaxed);
        }
        let gone = || Error::new(ErrorKind::Gone, on, "the port was deleted meanwhile").cure("add it again");
        let state = self.state_of(number).ok_or_else(gone)?;
        state.u64(state::DROPPED_BEFORE).store(veth::tx_dropped(nic.index).unwrap_or(0), Relaxed);
        state.u32(state::NIC).store(1, Release);
        Ok(())
    }

    /// Has an interface receive all frames, until [`detach_nic`](Self::detach_nic).
    fn make_promiscuous(&self, nic: &Nic, number: u32, on: &str) -> Result<()> {
        let done = nic.interface.set_promiscuous(true);
        let done = done.map_err(|e| Error::io(on, "making it promiscuous failed", e))?;
        self.port_word(number, port::PROMISCUOUS).store(done.into(), Relaxed);
        Ok(())
    }
}
