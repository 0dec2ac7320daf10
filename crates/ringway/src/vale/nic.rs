//! NICs as ports of a switch.
//!
//! ```text
//! <root>/vale0/
//!     nics devs all_devs      counters, interfaces by port number, interfaces for frames to all; made with the first NIC
//!     edge_*                  the same interfaces for switches whose ports have features (edge.rs)
//!     out/7                   the program that sends what waits for port 7: whoever has a port of the switch may run it
//!     port/eth1/              as for other ports, for root alone, and
//!         xdp taken           links: the program attached to the interface, the one that counts what its driver took
//!         keep                link of the `out` program, covered by a mount of the network namespace that it is attached in
//! ```
//!
//! A program that is attached nowhere makes each run wait for two RCU grace periods, some 20 ms. `out` can't be the program
//! that is attached to the NIC (bpf/vale_nic_out.h says why), so it is attached to the loopback interface of a
//! namespace of its own, where no frame ever passes. The mount keeps that namespace when no process lives.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use super::edge::{self, Edges};
use super::layout::{PORTS, info, nic as at, port, state};
use super::module::Code;
use super::objects::Variants;
use super::stats::SwitchPortStats;
use super::{PortAccess, Switch, SwitchPort, objects, pins, remove_tree};
use crate::backend::ebpf::{DRV_MODE, SKB_MODE, refused, xdp_refused};
use crate::backend::nic::{attach_xdp, find};
use crate::error::{Error, ErrorKind, Result};
use crate::ring::leaves_checksums;
use crate::stats::{DropReason, RingStats};
use crate::sys::mmap::Mmap;
use crate::sys::net::{self, Interface};
use crate::sys::{bpf, bpffs};

/// The objects with the programs of a NIC; clang made them (build.rs).
static OBJECTS: Variants = [
    include_bytes!(concat!(env!("OUT_DIR"), "/vale_nic_bridge.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/vale_nic_hub.bpf.o")),
    include_bytes!(concat!(env!("OUT_DIR"), "/vale_nic_module.bpf.o")),
];

/// What is in each.
const PROGRAMS: [&str; 4] = ["vale_wire", "vale_out", "vale_taken", "vale_edge"];

/// How long the kernel may take to call a link running that was just brought up.
const SETTLE: Duration = Duration::from_millis(1100);

/// An interface of the present network namespace.
struct Nic {
    index: u32,
    netns: u32,
    interface: Interface,
}

/// The maps that the NICs of a switch share.
struct Shared {
    nics: MapHandle,
    devs: MapHandle,
    all: MapHandle,
    edges: Edges,
}

/// The programs of a NIC.
struct Programs {
    wire: OwnedFd,
    out: OwnedFd,
    taken: OwnedFd,
    edge: OwnedFd,
}

impl Switch {
    /// Makes an interface of the present network namespace a port of its own name; returns its number.
    ///
    /// All that the interface receives enters the switch, as if a port had sent it, and what the switch has for the port leaves
    /// by the interface. The host's own stack receives nothing from it any more. Frames between NICs are moved by the
    /// kernel alone, also when no process of Ringway lives. The interface becomes promiscuous.
    ///
    /// Frames from virtual ports wait in the port's rx ring until their sender's sync sends them. When the sender dies in
    /// between, they leave with the next frames that any port sends to the interface. The order of one sender's frames holds
    /// unless several send to the interface at the same moment: then those that one has sent for another may arrive up to 64
    /// frames off.
    ///
    /// Frames longer than 3300 bytes from virtual ports are dropped as `too_long`, those above the MTU as `device_refused`; so
    /// is a frame in several pieces (an MTU above some 3500) to all, when the switch has more than two NICs: `too_long`.
    /// Hosts behind a veth, tap or other software interface leave checksums unfinished. They are finished for virtual ports, but not
    /// for frames that go on to another NIC: turn that off in such hosts with `ethtool -K IF tx off`.
    ///
    /// A NIC can be told what other ports can ([`PortConf`](super::PortConf)): VLANs, isolation, storm limits, a mirror; and it can be the
    /// mirror of others. It then loses as `no_memory` what has no room before the frame for a tag and 72 bytes of metadata, as some
    /// drivers' frames. As a mirror it gets at most 7 copies of a frame that came from a NIC (`device_full`), and none of one in
    /// several pieces (`too_long`). Tags must be in the frames: where a driver, or the host behind a veth, keeps them beside the
    /// bytes, frames seem untagged: turn that off with `ethtool -K IF rxvlan off`, and in such hosts with `ethtool -K IF txvlan off`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Unsupported`] when its driver has no native XDP; [`ErrorKind::Busy`] when another program
    /// is attached, or there is a port of that name; [`ErrorKind::Invalid`] when the kernel's verifier refuses
    /// the switch's module in the program of a NIC; [`ErrorKind::LinkDown`]; [`ErrorKind::Invalid`] when the switch has 64 NICs, or one
    /// of the same index in another namespace. Nothing half made stays.
    ///
    /// ```no_run
    /// let switch = ringway::vale::Switch::open("vale0")?;
    /// switch.add_nic("eth1")?;
    /// switch.add_nic("eth2")?;
    /// # Ok::<(), ringway::Error>(())
    /// ```
    pub fn add_nic(&self, interface: &str) -> Result<u32> {
        let on = format!("{}:{interface}", self.name);
        let nic = Nic::find(interface, &on)?;
        let _lock = self.lock()?;
        let place = self.free_place(&nic, &on)?;
        let shared = Shared::of(&self.dir, &on)?;
        let number = self.make_port(interface, &PortAccess::default(), port::NIC)?;
        let dir = pins::port(&self.dir, interface);
        self.attach(&nic, &shared, (number, place), &dir, &on).inspect_err(|_| {
            if let Some(p) = self.ports().into_iter().find(|p| p.number == number) {
                self.detach_nic(&p);
            }
            self.forget_port(number);
            remove_tree(&dir);
        })?;
        Ok(number)
    }

    /// A place in the map of frames to all. There the kernel tells interfaces apart by index alone.
    fn free_place(&self, nic: &Nic, on: &str) -> Result<u32> {
        let bad = |what: &str, cure: &str| Err(Error::new(ErrorKind::Invalid, on, what).cure(cure));
        let nics: Vec<SwitchPort> = self.ports().into_iter().filter(|p| p.nic.is_some()).collect();
        if nics.iter().any(|p| p.nic == Some(nic.index) && self.nic_word(p.number, port::NETNS) != nic.netns)
        {
            return bad(
                "a NIC of another network namespace has the same index",
                "make or move one of them with another: `ip link add index N`, `ip link set IF netns NS index N`",
            );
        }
        let taken: Vec<u32> = nics.iter().map(|p| self.nic_word(p.number, port::PLACE)).collect();
        match (0..at::MAX).find(|p| !taken.contains(p)) {
            Some(place) => Ok(place),
            None => bad("the switch has 64 NICs", "delete one with `ringway vale port del`"),
        }
    }

    /// A word about a NIC.
    fn nic_word(&self, number: u32, word: usize) -> u32 {
        self.ports.u32(number as usize * port::SIZE + word).load(Relaxed)
    }

    fn attach(
        &self,
        nic: &Nic,
        shared: &Shared,
        (number, place): (u32, u32),
        dir: &Path,
        on: &str,
    ) -> Result<()> {
        let word = |at: usize| self.ports.u32(number as usize * port::SIZE + at);
        for (at, value) in [(port::IFINDEX, nic.index), (port::NETNS, nic.netns), (port::PLACE, place)] {
            word(at).store(value, Relaxed);
        }
        word(port::PROMISCUOUS).store(0, Relaxed);
        let gone = || Error::new(ErrorKind::Gone, on, "the port was deleted meanwhile").cure("add it again");
        self.state_in(dir).ok_or_else(gone)?.u32(state::NIC).store(1, Release);
        shared.clear(number, on)?;
        let programs = self.load_nic(nic, shared, number, on)?;
        let pin = |link: &OwnedFd, name: &str| {
            bpffs::pin(link.as_fd(), &dir.join(name)).map_err(|e| Error::io(on, "pinning failed", e))
        };
        let taken = bpf::raw_tracepoint(programs.taken.as_fd())
            .map_err(|e| Error::io(on, "attaching the program that counts failed", e).cure("run as root"))?;
        pin(&taken, "taken")?;
        keep(&programs.out, dir, on)?;
        self.publish(&programs.out, number, on)?;
        shared.point(number, place, nic.index, on)?;
        shared.edges.point((number, place), nic.index, &programs.edge, on)?;
        let promiscuous = nic.interface.set_promiscuous(true);
        let promiscuous = promiscuous.map_err(|e| Error::io(on, "making it promiscuous failed", e))?;
        word(port::PROMISCUOUS).store(promiscuous.into(), Relaxed);
        let wire = attach_xdp(programs.wire.as_fd(), (nic.netns, nic.index), DRV_MODE)
            .map_err(|e| xdp_refused(on, (nic.netns, nic.index), &nic.interface, e))?;
        pin(&wire, "xdp")
    }

    fn load_nic(&self, nic: &Nic, shared: &Shared, number: u32, on: &str) -> Result<Programs> {
        let prepare = |e: libbpf_rs::Error| refused(on, "preparing the programs of a NIC", &e);
        let generation = self.info.u32(info::GENERATION).load(Relaxed);
        let config = objects::config(self.shape, self.identity(number, generation));
        let software = u32::from(leaves_checksums(&nic.interface.driver()));
        let own: Vec<u8> = [nic.index, nic.netns, software].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let code = self.code()?;
        let mut open = objects::open_object(&code, &OBJECTS, on)?;
        for mut p in open.progs_mut() {
            let mine = PROGRAMS.iter().any(|name| p.name() == *name);
            p.set_autoload(mine);
        }
        for mut m in open.maps_mut() {
            let name = m.name().to_string_lossy().into_owned();
            if name == ".rodata.nic" {
                m.set_initial_value(&own).map_err(prepare)?;
            } else if name.ends_with(".rodata") {
                objects::put_config(&mut m, &config);
            } else if let Some((_, map)) = self.maps.named().iter().find(|(n, _)| *n == name) {
                m.reuse_fd(map.as_fd()).map_err(prepare)?;
            } else if let Some((_, map)) = shared.named().find(|(n, _)| *n == name) {
                m.reuse_fd(map.as_fd()).map_err(prepare)?;
            }
        }
        if let Code::Custom(c) = &code {
            c.share_maps(&mut open, &objects::OWN).map_err(prepare)?;
        }
        let loaded = bpf::load_object(open, PROGRAMS[0])
            .map_err(|(e, log)| objects::unloaded(&code, &e, log.as_deref(), on))?;
        let program = |name: &str| {
            let missing = || {
                Error::new(ErrorKind::Unsupported, on, "the eBPF object lacks a program")
                    .cure("rebuild Ringway")
            };
            let program = loaded.progs().find(|p| p.name() == name).ok_or_else(missing)?;
            program.as_fd().try_clone_to_owned().map_err(|e| Error::io(on, "dup failed", e))
        };
        Ok(Programs {
            wire: program(PROGRAMS[0])?,
            out: program(PROGRAMS[1])?,
            taken: program(PROGRAMS[2])?,
            edge: program(PROGRAMS[3])?,
        })
    }

    /// Shows the `out` program to senders.
    fn publish(&self, out: &OwnedFd, number: u32, on: &str) -> Result<()> {
        let io = |e| Error::io(on, "pinning the program that sends failed", e);
        let path = pins::out(&self.dir, number);
        if let Some(dir) = path.parent().filter(|d| !d.is_dir()) {
            fs::create_dir(dir).map_err(io)?;
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).map_err(io)?;
        }
        bpffs::pin(out.as_fd(), &path).map_err(io)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).map_err(io)
    }

    /// Takes everything off an interface that is a port; does nothing for other ports. What is gone already is no failure:
    /// the interface may be deleted, or another process may have been killed here before.
    pub(super) fn detach_nic(&self, p: &SwitchPort) {
        let Some(index) = p.nic else { return };
        let dir = pins::port(&self.dir, &p.name);
        if let Ok(link) = bpffs::get(&dir.join("xdp"), true) {
            let _ = bpf::detach(link.as_fd());
        }
        let _ = net::let_go(&dir.join("keep"));
        let _ = fs::remove_file(pins::out(&self.dir, p.number));
        if let Ok(shared) = Shared::open(&self.dir, &self.name) {
            let _ = shared.devs.delete(&p.number.to_ne_bytes());
            let _ = shared.all.delete(&self.nic_word(p.number, port::PLACE).to_ne_bytes());
            shared.edges.forget(p.number, self.nic_word(p.number, port::PLACE));
        }
        let here = net::netns_inode().is_ok_and(|n| n == self.nic_word(p.number, port::NETNS));
        if here && self.nic_word(p.number, port::PROMISCUOUS) != 0 {
            let _ = Interface::new(index).and_then(|i| i.set_promiscuous(false));
        }
    }

    /// Bytes of the maps that NICs share: counters for each CPU, and tables of interfaces.
    pub(super) fn nic_bytes(&self) -> usize {
        let cpus = libbpf_rs::num_possible_cpus().unwrap_or(1);
        let made = pins::outs(&self.dir).is_dir();
        let all = at::MAX * (1 + edge::ENTRIES);
        usize::from(made) * (PORTS as usize * (cpus * at::SIZE + 16) + all as usize * 8)
    }

    /// Puts what the programs of a NIC counted in: what came from the wire, what went to it.
    pub(super) fn add_nic_counts(&self, stats: &mut SwitchPortStats) {
        let sum = Shared::open(&self.dir, &self.name).and_then(|s| s.sum(stats.port.number, &self.name));
        let Ok(sum) = sum else { return };
        let word = |at: usize| sum.u64(at).load(Relaxed);
        stats.counters.tx.add(&RingStats::new(sum.clone(), 0).read());
        stats.copies += word(at::COPIES);
        stats.unlearned += word(at::UNLEARNED);
        let rx = &mut stats.counters.rx;
        rx.frames_in += word(at::OFFERED);
        rx.frames_out = word(at::SENT).min(word(at::HANDED));
        rx.bytes_out = word(at::BYTES);
        for why in DropReason::ALL {
            rx.add_drops(why, word(at::EDGE + 8 * why as usize));
        }
        let lost = word(at::HANDED) - rx.frames_out;
        // The kernel calls refused also what a clone's NIC was not to get.
        let full = word(at::FULL).saturating_sub(word(at::WITHHELD)).min(lost);
        rx.add_drops(DropReason::DeviceFull, full);
        rx.add_drops(DropReason::DeviceRefused, lost - full);
    }
}

impl Nic {
    fn find(name: &str, on: &str) -> Result<Self> {
        let io = |e| Error::io(on, "asking for the interface failed", e);
        let (index, interface) = find(on, name)?;
        let start = Instant::now();
        while !interface.link_up().map_err(io)? {
            if start.elapsed() < SETTLE {
                thread::sleep(Duration::from_millis(10));
                continue;
            }
            let what = format!("the link of {name} is down");
            return Err(Error::new(ErrorKind::LinkDown, on, what)
                .cure(format!("`ip link set {name} up`, and check the cable or the other end")));
        }
        Ok(Self { index, netns: net::netns_inode().map_err(io)?, interface })
    }
}

impl Shared {
    /// Opens the maps, making them with the first NIC.
    fn of(dir: &Path, on: &str) -> Result<Self> {
        if dir.join("all_devs").exists() {
            return Self::open(dir, on);
        }
        let map = |kind, name: &str, value: usize, entries| {
            let path = dir.join(name);
            let _ = fs::remove_file(&path); // of one that was killed here
            let opts = libbpf_sys::bpf_map_create_opts {
                sz: size_of::<libbpf_sys::bpf_map_create_opts>() as _,
                ..Default::default()
            };
            let map = MapHandle::create(kind, Some(format!("vale_{name}")), 4, value as u32, entries, &opts)
                .map_err(|e| refused(on, "making the maps of NICs", &e))?;
            bpffs::pin(map.as_fd(), &path).map_err(|e| Error::io(on, "pinning failed", e))?;
            Ok::<_, Error>(map)
        };
        Ok(Self {
            nics: map(MapType::PercpuArray, "nics", at::SIZE, PORTS)?,
            devs: map(MapType::Devmap, "devs", 4, PORTS)?,
            edges: Edges::make(dir, on)?,
            all: map(MapType::Devmap, "all_devs", 4, at::MAX)?,
        })
    }

    fn open(dir: &Path, on: &str) -> Result<Self> {
        let get = |name: &str| objects::open_map(&dir.join(name), on);
        let edges = Edges::open(dir, on)?;
        Ok(Self { nics: get("nics")?, devs: get("devs")?, all: get("all_devs")?, edges })
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &MapHandle)> {
        let own = [("nics", &self.nics), ("devs", &self.devs), ("all_devs", &self.all)];
        own.into_iter().chain(self.edges.named())
    }

    /// Forgets what an earlier port of that number counted.
    fn clear(&self, number: u32, on: &str) -> Result<()> {
        let cpus =
            libbpf_rs::num_possible_cpus().map_err(|e| refused(on, "asking for the number of CPUs", &e))?;
        self.nics
            .update_percpu(&number.to_ne_bytes(), &vec![vec![0; at::SIZE]; cpus], MapFlags::ANY)
            .map_err(|e| refused(on, "clearing the counters", &e))
    }

    /// Tells the programs the interface of a port.
    fn point(&self, number: u32, place: u32, index: u32, on: &str) -> Result<()> {
        [(&self.devs, number), (&self.all, place)].into_iter().try_for_each(|(map, key)| {
            map.update(&key.to_ne_bytes(), &index.to_ne_bytes(), MapFlags::ANY)
                .map_err(|e| refused(on, "naming the interface to the programs", &e))
        })
    }

    /// What all CPUs counted for a port, word by word.
    fn sum(&self, number: u32, on: &str) -> Result<Arc<Mmap>> {
        let copies = self.nics.lookup_percpu(&number.to_ne_bytes(), MapFlags::ANY);
        let copies = copies.map_err(|e| refused(on, "reading the counters", &e))?.unwrap_or_default();
        let sum = Mmap::anonymous(at::SIZE).map_err(|e| Error::io(on, "mapping memory failed", e))?;
        for copy in &copies {
            for (i, word) in copy.chunks_exact(8).enumerate() {
                let word = u64::from_ne_bytes(word.try_into().unwrap_or_default());
                sum.u64(8 * i).fetch_add(word, Relaxed);
            }
        }
        Ok(Arc::new(sum))
    }
}

/// Attaches `out` in a namespace of its own, which lasts as long as the mount.
fn keep(out: &OwnedFd, dir: &Path, on: &str) -> Result<()> {
    let path = dir.join("keep");
    let kept = net::in_private_netns(|| {
        let link = bpf::link(out.as_fd(), 1, libbpf_sys::BPF_XDP, SKB_MODE)?;
        bpffs::pin(link.as_fd(), &path)?;
        net::hold(&path)
    });
    kept.map(drop)
        .map_err(|e| Error::io(on, "keeping the program that sends attached failed", e).cure("run as root"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use crate::vale::SwitchSpec;

    const XDP_ABORTED: u32 = 0;

    fn ip(arguments: &str) {
        let ran = std::process::Command::new("ip").args(arguments.split(' ')).status();
        assert!(ran.unwrap().success(), "ip {arguments}");
    }

    fn waiting(switch: &Switch) -> u64 {
        switch.stats().iter().map(|s| s.waiting).sum()
    }

    /// A frame waits for v0; `out` is run in ways that must neither show nor lose it, and then as senders do.
    fn misuse(switch: &Switch) {
        let number = switch.add_nic("v0").unwrap();
        let path = pins::out(&switch.dir, number);
        let out = bpffs::get(&path, true).unwrap();
        fs::remove_file(&path).unwrap(); // as if the sender died before it ran the program
        let mut port = Port::open(&format!("{}:p", switch.name)).unwrap();
        assert!(port.tx[0].push(&[0xff; 60]));
        port.tx[0].sync().unwrap();
        assert_eq!(waiting(switch), 1);
        let mine = vec![0; 64];
        assert_eq!(bpf::run_once(out.as_fd(), &mine).unwrap(), (XDP_ABORTED, mine));
        let other = net::index("v1").unwrap();
        bpf::run_live(out.as_fd(), 64, 10, Some(other)).unwrap();
        assert_eq!(waiting(switch), 1);
        assert!(bpf::run_live(out.as_fd(), 64, 10, None).unwrap());
        assert_eq!(waiting(switch), 0);
        let nic = &switch.stats()[0];
        assert_eq!(nic.counters.rx.frames_out, 1, "{}", nic.counters.rx);
        outlive(switch, number, &out, &mut port);
    }

    /// Whoever kept the program of a NIC that is gone can't take frames from the port that got its number.
    fn outlive(switch: &Switch, number: u32, out: &OwnedFd, port: &mut Port) {
        switch.del_port("v0", false).unwrap();
        assert_eq!(switch.add_port("next", &PortAccess::default()).unwrap(), number);
        let mut next = Port::open(&format!("{}:next", switch.name)).unwrap();
        let slots = switch.spec().slots;
        let mut got = Vec::new();
        // The ring goes round twice: slots that the program gave away too early would be filled again before they are read.
        for n in 0..2 * slots {
            let mut frame = [0xff; 60];
            frame[56..].copy_from_slice(&n.to_ne_bytes());
            assert!(port.tx[0].push(&frame));
            port.tx[0].sync().unwrap();
            if n == slots {
                bpf::run_live(out.as_fd(), 64, slots, None).unwrap();
            }
        }
        next.rx[0].sync().unwrap();
        for frame in next.rx[0].burst(u32::MAX) {
            got.push(u32::from_ne_bytes(frame.bytes()[56..60].try_into().unwrap()));
        }
        assert_eq!(got, (0..slots - 1).collect::<Vec<_>>());
    }

    #[test]
    fn the_sending_program_serves_live_frames_only() {
        if !crate::sys::is_root() {
            eprintln!("SKIPPED: switches need root");
            return;
        }
        let name = format!("valen{}", std::process::id());
        let switch = Switch::create(&name, &SwitchSpec::default()).unwrap();
        let done = net::in_private_netns(|| {
            ip("link add v0 type veth peer name v1");
            ["v0", "v1"].into_iter().for_each(|v| ip(&format!("link set {v} up")));
            let run = || {
                assert!(
                    std::process::Command::new("ethtool")
                        .args(["-K", "v1", "gro", "on"])
                        .status()
                        .unwrap()
                        .success()
                )
            };
            run();
            Ok(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| misuse(&switch))))
        });
        switch.delete().unwrap();
        done.unwrap().1.unwrap();
    }
}
