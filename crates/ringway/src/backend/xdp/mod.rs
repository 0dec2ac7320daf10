//! `xdp:IF`: AF_XDP sockets whose memory is the region, one for each queue.
//!
//! The driver (zero copy) or the kernel (copy) puts received frames into the region's buffers and sends from them; only
//! indexes change hands. Each socket registers the region's buffers as its own umem: ports of one region still forward by
//! exchanging indexes, and none depends on another one's life.
//!
//! | mode | when |
//! | --- | --- |
//! | zero copy | the driver has it; frames are limited to the buffer less 256 bytes of headroom |
//! | copy | native XDP without zero copy |
//! | copy, generic XDP | the driver has no XDP, or refuses programs for its MTU, LRO or queues |
//!
//! Nothing is pinned: the program's link and the sockets live through descriptors of this process.

mod core;
mod in_flight;
mod queue;
mod rx;
mod rx_half;
mod sender;
#[cfg(test)]
mod tests;
mod tx;
mod tx_half;

use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Weak};

use libbpf_rs::{MapHandle, ObjectBuilder};

pub(crate) use sender::{KERNEL_CHAIN, Room, Sender};

use self::core::Core;
use super::beside_host;
use super::ebpf;
use crate::count::{DropReason, PortCounters};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{Gate, Hook};
use crate::memory::Region;
use crate::nic;
use crate::port::name::{NicRings, PortName, no_host_rings, parse};
use crate::port::{Control, Kind, Made, Open, OpenOptions, Refusal, Setup, refuse_send_only, wrong_kind};
use crate::ring::PortShape;
use crate::sys::capability::{Cap, need};
use crate::sys::{libbpf, net, xdp_query, xdp_trial, xsk};
use queue::Queue;

/// Ports called `xdp:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "xdp",
    goes_on: false,
    parse: parse::xdp,
    refuses,
    open: Open::Alone {
        region: |name, options| match name {
            PortName::Xdp { interface, rings } => spec(interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
        foreign_region: false,
        open: |name, options| match name {
            PortName::Xdp { interface, rings } => open(name, interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// An AF_XDP socket leaves no copy.
fn refuses(name: &PortName, options: &OpenOptions) -> Option<Refusal> {
    let copy = ("an AF_XDP socket takes the frame itself", "use ebpf: or packet: for copies");
    refuse_send_only(name, options).or_else(|| options.copy.then_some(copy))
}

/// Bytes of a buffer under zero copy, whose chunks are powers of two. Otherwise as `ebpf:` has it.
const ZERO_COPY_BUF: u32 = 2048;

/// Bounds of a buffer: an AF_XDP chunk has 2048 to 4096 bytes, headroom included.
const BUF_SIZES: std::ops::RangeInclusive<u32> = 1792..=3840;

/// `NETDEV_XDP_ACT_XSK_ZEROCOPY` of linux/netdev.h.
const ZERO_COPY: u64 = 1 << 3;

/// The region that a port of this name needs.
pub(crate) fn spec(
    ifname: &str,
    rings: NicRings,
    options: &OpenOptions,
) -> Result<crate::memory::RegionSpec> {
    let name = PortName::Xdp { interface: ifname.into(), rings }.to_string();
    let target = ebpf::target(&name, ifname, rings, options)?;
    let size = if options.zero_copy || zero_copy(target.index) { ZERO_COPY_BUF } else { ebpf::BUF_SIZE };
    Ok(target.shape.region(size))
}

fn zero_copy(ifindex: u32) -> bool {
    xdp_query::xdp(ifindex).is_ok_and(|is| is.features & ZERO_COPY != 0)
}

/// Opens the port.
pub(crate) fn open(port: &PortName, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Made> {
    make(port, ifname, rings, options).map(|(made, _)| made)
}

/// The port and its queues.
fn make(
    port: &PortName,
    ifname: &str,
    rings: NicRings,
    options: &OpenOptions,
) -> Result<(Made, Vec<Arc<Queue>>)> {
    let name = port.to_string();
    if rings == NicRings::Host {
        return Err(no_host_rings(&name, ifname));
    }
    let target = ebpf::target(&name, ifname, rings, options)?;
    need(&[Cap::Bpf, Cap::NetAdmin, Cap::NetRaw], "a port of AF_XDP", &name)?;
    let setup = Setup::within(port, region(&name, ifname, rings, options)?, target.shape)?;
    let zero_copy = wanted_zero_copy(&setup, target.index, options)?;
    let netns =
        net::netns_inode().map_err(|e| Error::io(&name, "reading the network namespace failed", e))?;
    let (first, shape) = (if target.queue == ebpf::ALL_QUEUES { 0 } else { target.queue }, target.shape);
    let core = Arc::new(attach(&setup, target, netns, options.zero_copy)?);
    setup.registration.set_interface((netns, core.ifindex));
    let queues = open_queues(&core, first, shape, zero_copy)?;
    let (tx, rx) = setup.views();
    let rx = rx
        .into_iter()
        .zip(0..)
        .map(|(v, r)| {
            let side = rx::XdpRx::new(queues[r as usize].clone(), setup.registration.rx(r), &v, options.raw);
            setup.rx_ring(v, r, Box::new(side))
        })
        .collect();
    let tx = tx
        .into_iter()
        .zip(0..)
        .map(|(v, r)| {
            let side = tx::XdpTx::new(queues[r as usize].clone(), setup.registration.tx(r))?;
            Ok(setup.tx_ring(v, r, Box::new(side)))
        })
        .collect::<Result<Vec<_>>>()?;
    let max_frame = (KERNEL_CHAIN * setup.region.buf_size()).min(core.mtu() + 18);
    let control = XdpPort {
        describe: describe(&core, &queues, shape.slots),
        interface: core.interface.clone(),
        queues: queues.iter().map(Arc::downgrade).collect(),
        name,
    };
    Ok((setup.finish(rx, tx, max_frame, control), queues))
}

/// The region given, if AF_XDP can have it, or one of the port's own.
fn region(name: &str, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Region> {
    let region = match &options.region {
        Some(r) => r.clone(),
        None => {
            let mut spec = spec(ifname, rings, options)?;
            spec.buffers += options.extra_bufs;
            Region::memfd(&spec)?
        }
    };
    if !BUF_SIZES.contains(&region.buf_size()) {
        let what = format!("buffers of {} bytes", region.buf_size());
        return Err(Error::new(ErrorKind::Invalid, name, what).cure("AF_XDP needs 1792 to 3840 bytes"));
    }
    Ok(region)
}

/// Whether to ask for zero copy, which needs buffers of one size.
fn wanted_zero_copy(setup: &Setup, ifindex: u32, options: &OpenOptions) -> Result<xsk::ZeroCopy> {
    let fits = setup.region.buf_size() == ZERO_COPY_BUF;
    if options.zero_copy && !fits {
        let what = format!("buffers of {} bytes, zero copy has {ZERO_COPY_BUF}", setup.region.buf_size());
        return Err(Error::new(ErrorKind::Unsupported, &setup.name, what)
            .cure("open the port in a region of its own"));
    }
    Ok(match (options.zero_copy, fits && zero_copy(ifindex)) {
        (true, _) => xsk::ZeroCopy::Only,
        (false, true) => xsk::ZeroCopy::Try,
        (false, false) => xsk::ZeroCopy::No,
    })
}

/// A socket on each queue from `first` on.
fn open_queues(
    core: &Arc<Core>,
    first: u32,
    shape: PortShape,
    zero_copy: xsk::ZeroCopy,
) -> Result<Vec<Arc<Queue>>> {
    let open = |q| {
        let want = xsk::Wanted {
            ifindex: core.ifindex,
            queue: first + q,
            ring: shape.slots.next_power_of_two(),
            receive: q < shape.rx_rings,
            zero_copy,
        };
        let fd = xsk::Xsk::socket().map_err(|e| core.refused(first + q, e))?;
        Queue::new(core.clone(), want, fd).map(Arc::new)
    };
    (0..shape.rx_rings.max(shape.tx_rings)).map(open).collect()
}

/// Whether a driver refused a program because of what it is, or how it is set, not because of who asks.
fn generic_instead(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE | libc::ENOSPC))
}

/// Loads the program and attaches it, natively if the driver can.
fn attach(setup: &Setup, target: ebpf::Target, netns: u32, only_zero_copy: bool) -> Result<Core> {
    let name = &setup.name;
    let fail = |what: &'static str| move |e: libbpf_rs::Error| libbpf::refused(name, what, &e);
    libbpf::quiet();
    let object = ringway_bpf::XSK.unpack();
    let mut open = ObjectBuilder::default().open_memory(&object).map_err(fail("reading the eBPF object"))?;
    let queues = target.interface.queues();
    for mut m in open.maps_mut() {
        m.set_max_entries(queues.0.max(queues.1)).map_err(fail("preparing the XDP program"))?;
    }
    let loaded = open.load().map_err(fail("loading the XDP program"))?;
    let missing =
        || Error::new(ErrorKind::Unsupported, name, "the eBPF object lacks a part").cure("rebuild Ringway");
    let program = loaded.progs().next().ok_or_else(missing)?;
    let map = loaded.maps().next().ok_or_else(missing)?;
    let sockets = MapHandle::try_from(&map).map_err(fail("keeping a map"))?;
    let gate = target.take.as_ref().map(|f| Gate::new(f, Hook::Xdp, program.as_fd(), name)).transpose()?;
    if gate.is_none() {
        nic::refuse_member(name, target.index)?;
    }
    let entry = gate.as_ref().map_or(program.as_fd(), Gate::entry);
    let link = |flags| nic::attach_xdp(entry, (netns, target.index), flags);
    // Generic XDP has none of the limits of drivers, and no zero copy.
    let (link, generic) = match link(nic::DRV_MODE) {
        Err(e) if generic_instead(&e) && !only_zero_copy => {
            let why = match e.raw_os_error() {
                Some(libc::EOPNOTSUPP) => "has no native XDP".to_owned(),
                _ => {
                    let words = xdp_trial::words(target.index).unwrap_or_else(|| e.to_string());
                    format!("refused native XDP: {words}")
                }
            };
            (link(nic::SKB_MODE), Some(why))
        }
        r => (r, None),
    };
    let link = link.map_err(|e| nic::xdp_refused(name, (netns, target.index), &target.interface, e))?;
    if let Some(why) = &generic {
        beside_host::refuse_generic(name, (netns, target.index), &target.interface, why)?;
    }
    let (promiscuous, unheard) = target.promiscuous(name)?;
    let core = Core {
        name: name.clone(),
        driver: target.interface.driver(),
        interface: Arc::new(target.interface),
        ifindex: target.index,
        served: if target.queue == ebpf::ALL_QUEUES { queues.0 } else { u32::MAX },
        region: setup.region.clone(),
        mtu: AtomicU32::new(0),
        generic,
        sockets,
        _link: link,
        _promiscuous: promiscuous,
        unheard,
        gate,
    };
    core.look_now()?;
    Ok(core)
}

fn describe(core: &Core, queues: &[Arc<Queue>], slots: u32) -> String {
    let refused = queues.iter().find_map(|q| q.refused()).map(std::io::Error::from_raw_os_error);
    let mode = match (queues.iter().all(|q| q.zero_copy()), &core.generic, refused) {
        (true, ..) => "zero copy",
        (false, Some(why), _) => &format!("copy mode by generic XDP, the driver {why}"),
        (false, None, None) => "copy mode, the driver has no zero copy",
        (false, None, Some(e)) => &format!("copy mode, the driver refused zero copy: {e}"),
    };
    let takes = core.gate.as_ref().map_or(String::new(), |g| format!("; takes only `{}`", g.filter()));
    let (driver, queues, unheard) = (&core.driver, queues.len(), core.unheard);
    format!("xdp: AF_XDP, {mode}, driver {driver}, {queues} queues of {slots} slots{takes}{unheard}")
}

/// The port as a whole. It keeps nothing attached: who only reads counters does not hold the interface.
#[derive(Debug)]
struct XdpPort {
    name: String,
    interface: Arc<net::Interface>,
    queues: Vec<Weak<Queue>>,
    describe: String,
}

impl Control for XdpPort {
    fn counters(&self, sum: &mut PortCounters) {
        let lost = self.queues.iter().filter_map(Weak::upgrade).map(|q| q.rx().uncounted()).sum();
        sum.rx.frames_in += lost;
        sum.rx.add_drops(DropReason::RingFull, lost);
    }

    fn link_up(&self) -> Result<bool> {
        self.interface.link_up().map_err(|e| nic::gone(&self.name, e))
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }
}
