//! `ebpf:IF`: rings of an interface, or of its host stack, served by verified eBPF programs in the kernel.
//!
//! | part | how | since Linux |
//! | --- | --- | --- |
//! | receive | a native XDP program copies each frame into the next free slot | 5.9 |
//! | send | one `BPF_PROG_RUN` on live frames for each sync; small bursts by AF_XDP where order allows | 5.18 |
//! | host rings, receive | a tcx program on egress takes what the host sends; before Linux 6.6 by clsact | 5.17 |
//! | host rings, send | live frames that pass into the host stack | 5.18 |
//! | wake-up | a `BPF_MAP_TYPE_RINGBUF` for each rx ring | 5.8 |
//!
//! Nothing is pinned: programs, links and the private network namespace that keeps the tx program
//! attached live through descriptors of this process. So they are gone with it, however it ends.
//! Only before Linux 6.6 a filter stays behind an owner of host rings that was killed; it passes
//! all ([`egress`]).

mod control;
mod core;
mod egress;
mod rx;
mod share;
mod small;
#[cfg(test)]
mod tests;
mod tx;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::beside_host;
use crate::count::KernelCounters;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{Filter, Gate, Hook};
use crate::memory::{RegionSpec, bpf_array};
use crate::nic;
use crate::port::name::{NicRings, PortName, parse};
use crate::port::{
    Kind, Made, Open, OpenOptions, Refusal, Setup, Share, check_rings, find_interface, refuse_send_only,
    wrong_kind,
};
use crate::ring::PortShape;
use crate::sys::capability::{Cap, need};
use crate::sys::libbpf::refused;
use crate::sys::process_mark::ProcessMark;
use crate::sys::promiscuous::Promiscuous;
use crate::sys::{bpf, net};

use self::core::{Core, SLOTS};
pub(crate) use control::{add_map_counters, add_taken_counters};
use egress::Egress;
pub(super) use ringway_nic::kernel_half::{ALL_QUEUES, BUF_SIZE};
use ringway_nic::kernel_half::{Config, Loaded, RegionArray};
use ringway_nic::receives_in_polls;
pub(crate) use share::import;

/// Ports called `ebpf:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "ebpf",
    goes_on: false,
    parse: parse::ebpf,
    refuses,
    open: Open::Alone {
        region: |name, options| match name {
            PortName::Ebpf { interface, rings } => spec(interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
        foreign_region: false,
        open: |name, options| match name {
            PortName::Ebpf { interface, rings } => open(name, interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Host rings can't send alone, and a port that only sends has no frames to share.
fn refuses(name: &PortName, options: &OpenOptions) -> Option<Refusal> {
    match name {
        PortName::Ebpf { rings, .. } if *rings != NicRings::Host => {
            let nothing = options.send_only && (options.take.is_some() || options.copy);
            nothing.then_some((
                "a port that only sends takes and copies nothing",
                "open it without `take` and `copy`",
            ))
        }
        _ => refuse_send_only(name, options),
    }
}

/// Whether other CPUs see the stores of this one in their order: a slot before the cursor behind it.
const ORDERED: bool = cfg!(target_arch = "x86_64");

/// An interface that exists, and the what is wanted of it.
pub(super) struct Target {
    pub(super) index: u32,
    pub(super) interface: net::Interface,
    pub(super) shape: PortShape,
    pub(super) queue: u32,
    pub(super) take: Option<Filter>,
    copy: bool,
    send_only: bool,
    promiscuous: Option<bool>,
    most_pools: Option<u32>,
}

impl Target {
    /// Keeps the interface promiscuous where the port receives from it; see [`nic::promiscuous`].
    pub(super) fn promiscuous(&self, name: &str) -> Result<(Option<Promiscuous>, &'static str)> {
        if self.shape.host || self.send_only {
            return Ok((None, ""));
        }
        nic::promiscuous(name, self.index, self.promiscuous, self.take.is_none())
    }
}

pub(super) fn target(name: &str, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Target> {
    let (index, interface) = find_interface(name, ifname)?;
    let (rx, tx) = interface.queues();
    check_rings(name, ifname, rings, rx)?;
    let slots = options.slots.unwrap_or(SLOTS);
    let shape = |tx_rings, rx_rings, host| PortShape { tx_rings, rx_rings, slots, host };
    let (shape, queue) = match rings {
        NicRings::All => (shape(tx, rx, false), ALL_QUEUES),
        NicRings::Queue(q) => (shape(1, 1, false), q),
        NicRings::Host => (shape(1, cpus(), true), ALL_QUEUES),
    };
    Ok(Target {
        index,
        interface,
        shape,
        queue,
        take: options.take.clone(),
        copy: options.copy,
        send_only: options.send_only,
        promiscuous: options.promiscuous,
        most_pools: options.most_pools,
    })
}

/// CPUs that may send on the host's behalf.
fn cpus() -> u32 {
    libbpf_rs::num_possible_cpus().map_or(1, |n| n as u32)
}

/// It attaches programs to the interface, and keeps one attached in a network namespace.
const NEEDS: [Cap; 2] = [Cap::NetAdmin, Cap::SysAdmin];

/// The region that a port of this name needs.
pub(crate) fn spec(ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<RegionSpec> {
    let name = PortName::Ebpf { interface: ifname.into(), rings }.to_string();
    let target = target(&name, ifname, rings, options)?;
    need(&NEEDS, "an ebpf: port", &name)?;
    Ok(target.shape.region(BUF_SIZE))
}

/// Opens the port.
pub(crate) fn open(port: &PortName, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Made> {
    let name = port.to_string();
    let target = target(&name, ifname, rings, options)?;
    need(&NEEDS, "an ebpf: port", &name)?;
    let region = match &options.region {
        Some(r) => r.clone(),
        None => {
            let mut spec = target.shape.region(BUF_SIZE);
            spec.buffers += options.extra_bufs;
            bpf_array(&spec, &name)?
        }
    };
    region.shared().need_bpf(&name)?;
    let setup = Setup::within(port, region, target.shape)?;
    let core = Arc::new(attach(&setup, target)?);
    setup.registration.set_interface((core.cfg.netns, core.cfg.ifindex));
    let kind = if core.counted { KernelCounters::InterfaceTaken } else { KernelCounters::Interface };
    setup.registration.set_map(core.loaded.kstate_id, kind);
    let (tx, rx) = setup.views();
    let rx = rx
        .into_iter()
        .zip(0..)
        .map(|(v, r)| {
            let side = rx::EbpfRx::new(core.clone(), r, options.raw);
            setup.rx_ring(v, r, Box::new(side))
        })
        .collect();
    let tx = tx
        .into_iter()
        .zip(0..)
        .map(|(v, r)| {
            let mut side = tx::EbpfTx::new(core.clone(), r, setup.registration.tx(r))?;
            // Others may send on the interface: a port that receives there has it for itself.
            if options.send_only && !side.can_send() {
                let what = "the interface takes no live frames, and another AF_XDP socket has its queue";
                return Err(Error::new(ErrorKind::Busy, &name, what)
                    .cure("`ethtool -K PEER gro on` at the other end of a veth, or end the other sender"));
            }
            Ok(setup.tx_ring(v.clone(), r, Box::new(side)))
        })
        .collect::<Result<Vec<_>>>()?;
    let describe = core.describe(options.send_only);
    let share = share::Exporter::new(&core, &describe, options.raw);
    let made = setup.finish(rx, tx, core.max_frame(), control::Port::new(&core, describe));
    Ok(Made { share: share.map(|share| -> Box<dyn Share> { Box::new(share) }), ..made })
}

/// Loads the programs and attaches them.
fn attach(setup: &Setup, target: Target) -> Result<Core> {
    let name = &setup.name;
    let netns = net::netns_inode().map_err(|e| Error::io(name, "reading the network namespace failed", e))?;
    let driver = target.interface.driver();
    let mut cfg = config(setup, &target, netns);
    cfg.polled = u32::from(ORDERED && !target.shape.host && receives_in_polls(&driver));
    let (loaded, mut tracepoints) = load(&mut cfg, setup)?;
    let prog = |p: &str| {
        loaded
            .prog(p)
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, name, format!("no program {p} was loaded")))
    };
    if let Some(map) = &loaded.device {
        point(map, target.index, name)?;
    }
    let (receiver, hook) =
        if target.shape.host { ("host_rx", Hook::TcxEgress) } else { ("nic_rx", Hook::Xdp) };
    let receiver = prog(receiver)?;
    let gate = target.take.as_ref().map(|f| Gate::new(f, hook, receiver, name)).transpose()?;
    let (mut attached, egress) = thread::scope(|scope| {
        let bells = scope.spawn(|| loaded.hang_bells(name));
        let links = links(name, &target, (receiver, gate.as_ref()), prog("tx")?, cfg.netns);
        bells.join().expect("it does not panic")?;
        links
    })?;
    let counted = loaded.prog("taken").is_some();
    attached.append(&mut tracepoints);
    let (promiscuous, unheard) = target.promiscuous(name)?;
    Ok(Core {
        name: name.clone(),
        interface: Arc::new(target.interface),
        driver,
        loaded,
        cfg,
        region: setup.region.clone(),
        counted,
        looked_ns: AtomicU64::new(crate::sys::time::monotonic_ns()),
        opener: ProcessMark::here().ok(),
        attached,
        promiscuous,
        unheard,
        egress,
        gate,
    })
}

/// Attaches the receiver, or the gate before it, to the interface, and the tx program where it is
/// only kept. A program that is attached nowhere makes each run wait for two RCU grace periods,
/// some 20 ms.
fn links(
    name: &str,
    target: &Target,
    (receiver, gate): (BorrowedFd<'_>, Option<&Gate>),
    tx: BorrowedFd<'_>,
    netns: u32,
) -> Result<(Vec<OwnedFd>, Option<Egress>)> {
    let (mut attached, mut egress) = (Vec::new(), None);
    if target.send_only {
        // Other receivers on the interface go on as before.
    } else if target.shape.host {
        egress = Some(Egress::attach(receiver, gate, target.index, name)?);
        beside_host::refuse_host_rings(name, (netns, target.index), &target.interface)?;
    } else {
        if !target.copy && gate.is_none() {
            nic::refuse_member(name, target.index)?;
        }
        let receiver = gate.map_or(receiver, Gate::entry);
        let link = nic::attach_xdp(receiver, (netns, target.index), nic::DRV_MODE);
        attached.push(link.map_err(|e| nic::xdp_refused(name, (netns, target.index), &target.interface, e))?);
    }
    let (private, held) = net::in_private_netns(|| bpf::link(tx, 1, libbpf_sys::BPF_XDP, nic::SKB_MODE))
        .map_err(|e| {
            Error::io(name, "keeping the transmit program attached failed", e).cure_if_denied("run as root")
        })?;
    attached.extend([held, private]);
    Ok((attached, egress))
}

fn config(setup: &Setup, target: &Target, netns: u32) -> Config {
    let layout = &setup.region.shared().layout;
    let rings = (setup.shape.tx_rings, setup.shape.rx_rings);
    let usual = Config::in_region(layout, setup.lease.first_ring(), setup.shape.slots, rings);
    Config {
        queue: target.queue,
        host: u32::from(setup.shape.host),
        ifindex: target.index,
        netns,
        copy: u32::from(target.copy),
        most_pools: target.most_pools.unwrap_or(usual.most_pools),
        ..usual
    }
}

/// Programs at tracepoints, in the order in which they are tried: some kernels lack a tracepoint, or BTF.
const TRACED: [&[&str]; 4] =
    [&["taken", "released", "polled"], &["taken", "released"], &["taken", "polled"], &["taken"]];
/// The same for host rings.
const TRACED_HOST: [&[&str]; 1] = [&["released"]];

/// Loads the programs, and attaches the ones that the kernel has tracepoints for. `taken` counts what the interface takes, and
/// `released` counts pools of pages that wait. `polled` is among them if `cfg` has it.
fn load(cfg: &mut Config, setup: &Setup) -> Result<(Loaded, Vec<OwnedFd>)> {
    setup.region.shared().need_bpf(&setup.name)?;
    let (receiver, tries) =
        if setup.shape.host { ("host_rx", &TRACED_HOST[..]) } else { ("nic_rx", &TRACED[..]) };
    let wants_polled = cfg.polled == 1;
    for traced in tries {
        let polled = traced.contains(&"polled");
        if polled && !wants_polled {
            continue;
        }
        cfg.polled = u32::from(polled);
        match load_traced(receiver, traced, cfg, setup) {
            Err(e) if e.kind() != ErrorKind::Denied => {}
            loaded => return loaded,
        }
    }
    cfg.polled = 0;
    load_traced(receiver, &[], cfg, setup)
}

fn load_traced(
    receiver: &str,
    traced: &[&str],
    cfg: &Config,
    setup: &Setup,
) -> Result<(Loaded, Vec<OwnedFd>)> {
    let region = RegionArray { array: setup.region.as_fd(), bytes: setup.region.bytes() };
    let loaded = Loaded::new(&[&[receiver, "tx"], traced].concat(), cfg, region, &setup.name)?;
    let link = |prog: &&str| {
        let prog = loaded.prog(prog).ok_or(io::ErrorKind::NotFound)?;
        bpf::raw_tracepoint(prog)
    };
    let links = traced.iter().map(link).collect::<io::Result<_>>();
    let links = links.map_err(|e| Error::io(&setup.name, "attaching a program to a tracepoint failed", e))?;
    Ok((loaded, links))
}

/// Tells the tx program its interface.
fn point(map: &MapHandle, index: u32, name: &str) -> Result<()> {
    map.update(&0u32.to_ne_bytes(), &index.to_ne_bytes(), MapFlags::ANY)
        .map_err(|e| refused(name, "naming the interface to the transmit program", &e))
}
