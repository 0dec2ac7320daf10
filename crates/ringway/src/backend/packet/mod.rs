//! `packet:IF`: packet sockets with mapped rings, which any Ethernet interface has.
//!
//! | part | how |
//! | --- | --- |
//! | receive | a mapped ring (TPACKET_V2) for each rx ring; a sync copies its frames into slots, without a system call |
//! | several rx rings | sockets of one fanout group, by the hash of the flow: order within a flow holds |
//! | send | a mapped ring for each tx ring; one system call a sync; past the queueing discipline |
//! | offloads | unfinished checksums are finished, super-frames cut, VLAN tags put back ([`ringway_wire::offload`]) |
//! | wake-up | the socket is readable while a frame is in its ring |
//!
//! Frames are copied, so the host stack receives them too. A program that bridges an interface with an IP address has
//! both answer. What the host or another socket sends on the interface is not received.
//!
//! Version 2 of the rings, for version 3 shows a frame only when a block is full or a timer of at least 1 ms is over. Its
//! slots hold the MTU; a longer frame (a super-frame, as a rule) waits whole in the socket and costs a system call.
//!
//! Sending through a ring, the kernel copies a frame's header and points at the ring's pages for
//! the rest. A veth or a tap then copies them after all. So each frame's metadata says that all of
//! it is header: one copy, one piece, and the slot is free at once. On a veth that is 0.81 Mpps,
//! against 0.56 with pages and 0.64 with sendmmsg. These are means of two runs, with 60-byte
//! frames and bursts of 32, on one core of a 2-core virtual machine, Linux 6.18.
//!
//! Nothing stays after the process but what sockets leave, which is nothing.

mod core;
mod rx;
mod tx;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use self::core::{Core, Lost};
use crate::backend::gather::{HEADER, TAG};
use crate::count::{DropReason, PortCounters};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::RegionSpec;
use crate::nic;
use crate::port::name::{NicRings, PortName, no_host_rings, parse};
use crate::port::{
    Control, Kind, Made, Open, OpenOptions, Refusal, SLOTS, Setup, check_rings, find_interface,
    refuse_send_only, wrong_kind,
};
use crate::ring::PortShape;
use crate::sys::packet::{Geometry, PacketRx, PacketTx};
use crate::sys::{net::Interface, time};

/// Ports called `packet:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "packet",
    goes_on: false,
    parse: parse::packet,
    refuses,
    open: Open::Alone {
        region: |name, options| match name {
            PortName::Packet { interface, rings } => spec(interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
        foreign_region: false,
        open: |name, options| match name {
            PortName::Packet { interface, rings } => open(name, interface, *rings, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Packet sockets take no frame away.
fn refuses(name: &PortName, options: &OpenOptions) -> Option<Refusal> {
    let take = ("packet sockets leave all frames to the host", "use ebpf: or xdp: to take some");
    refuse_send_only(name, options).or_else(|| options.take.is_some().then_some(take))
}

/// Bytes of a buffer: 33 cache lines, for the reason given at `ebpf:`.
const BUF_SIZE: u32 = 2112;

/// Longest frame that gets a slot of the kernel's rings; longer ones take the way past them.
const MAX_IN_RING: u32 = 16_384;

/// Frames of a kernel's transmit ring: the most that one system call sends.
const TX_FRAMES: usize = 512;

/// The port as a whole. It holds no socket: who only reads counters keeps nothing open.
#[derive(Debug)]
struct Whole {
    core: Arc<Core>,
    lost: Vec<Weak<Lost>>,
    what: String,
}

impl Control for Whole {
    fn counters(&self, sum: &mut PortCounters) {
        let lost = self.lost.iter().filter_map(Weak::upgrade).map(|l| l.ask()).sum();
        sum.rx.frames_in += lost;
        sum.rx.add_drops(DropReason::RingFull, lost);
    }

    fn link_up(&self) -> Result<bool> {
        self.core.look_now()
    }

    fn describe(&self) -> String {
        self.what.clone()
    }
}

/// An interface that exists, and the rings wanted of it.
struct Target {
    index: u32,
    interface: Interface,
    shape: PortShape,
    queue: Option<u32>,
    promiscuous: bool,
}

fn target(name: &str, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Target> {
    let (index, interface) = find_interface(name, ifname)?;
    let kind = interface.link_type().map_err(|e| nic::gone(name, e))?;
    if !matches!(kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) {
        let what = format!("frames of {ifname} have no Ethernet header (link type {kind})");
        return Err(Error::new(ErrorKind::Unsupported, name, what).cure("use a tap in place of a tun"));
    }
    let (rx, tx) = interface.queues();
    check_rings(name, ifname, rings, rx)?;
    let slots = options.slots.unwrap_or(SLOTS);
    let shape = |tx_rings, rx_rings| PortShape { tx_rings, rx_rings, slots, host: false };
    let (shape, queue) = match rings {
        NicRings::All => (shape(tx, rx), None),
        // An interface with one queue needs no filter to have only that.
        NicRings::Queue(q) => (shape(1, 1), Some(q).filter(|_| rx > 1)),
        NicRings::Host => return Err(no_host_rings(name, ifname)),
    };
    Ok(Target { index, interface, shape, queue, promiscuous: options.promiscuous.unwrap_or(true) })
}

/// The region that a port of this name needs.
pub(crate) fn spec(ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<RegionSpec> {
    let name = PortName::Packet { interface: ifname.into(), rings }.to_string();
    Ok(target(&name, ifname, rings, options)?.shape.region(BUF_SIZE))
}

/// Opens the port.
pub(crate) fn open(port: &PortName, ifname: &str, rings: NicRings, options: &OpenOptions) -> Result<Made> {
    let name = port.to_string();
    let target = target(&name, ifname, rings, options)?;
    let setup = Setup::new(port, options, target.shape, BUF_SIZE)?;
    let mtu = target.interface.mtu().map_err(|e| nic::gone(&name, e))?;
    let longest = (mtu + HEADER + TAG).min(MAX_IN_RING) as usize;
    let sockets = receivers(&setup, &target, longest)?;
    let what = describe(&target);
    let core = Arc::new(Core {
        name: name.clone(),
        interface: target.interface,
        looked_ns: AtomicU64::new(time::monotonic_ns()),
    });
    let (tx, rx) = setup.views();
    let left = rx::Left { gso: options.gso, raw: options.raw };
    let mut lost = Vec::new();
    let mut rx_rings = Vec::new();
    for ((view, ring), socket) in rx.into_iter().zip(0..).zip(sockets) {
        let side = rx::Receiver::new(core.clone(), socket, left, setup.registration.rx(ring))?;
        lost.push(side.lost());
        rx_rings.push(setup.rx_ring(view, ring, Box::new(side)));
    }
    let mut tx_rings = Vec::new();
    for (view, ring) in tx.into_iter().zip(0..) {
        let socket = PacketTx::open(target.index, Geometry::new(longest, TX_FRAMES));
        let socket = socket.map_err(|e| refused(&name, "opening a socket to send from failed", e))?;
        let side = tx::Transmitter::new(core.clone(), socket, mtu, setup.registration.tx(ring))?;
        tx_rings.push(setup.tx_ring(view, ring, Box::new(side)));
    }
    Ok(setup.finish(rx_rings, tx_rings, mtu + HEADER, Whole { core, lost, what }))
}

/// A socket for each rx ring; several of them share the frames out.
fn receivers(setup: &Setup, target: &Target, longest: usize) -> Result<Vec<PacketRx>> {
    let geometry = Geometry::new(longest, setup.shape.slots.clamp(256, 4096) as usize);
    let mut sockets = Vec::new();
    let mut group = None;
    for _ in 0..setup.shape.rx_rings {
        let socket = PacketRx::open(target.index, geometry, target.queue, target.promiscuous)
            .map_err(|e| refused(&setup.name, "opening a socket to receive from failed", e))?;
        if setup.shape.rx_rings > 1 {
            let id = socket.join(group).map_err(|e| {
                // Before Linux 6.14 a socket on an interface that is down can't join.
                let down = e.raw_os_error() == Some(libc::EINVAL);
                let error = refused(&setup.name, "sharing frames out among several sockets failed", e);
                if down { error.with_kind(ErrorKind::LinkDown).cure("set the link up first") } else { error }
            })?;
            group = Some(id);
        }
        sockets.push(socket);
    }
    Ok(sockets)
}

fn refused(name: &str, what: &str, e: std::io::Error) -> Error {
    let code = e.raw_os_error();
    let error = Error::io(name, what, e);
    match code {
        Some(libc::EPERM | libc::EACCES) => error.cure("run as root, or with CAP_NET_RAW"),
        Some(libc::ENOMEM | libc::ENOBUFS) => error.cure("ask for fewer slots"),
        _ => error,
    }
}

fn describe(target: &Target) -> String {
    let (rx, tx) = (target.shape.rx_rings, target.shape.tx_rings);
    format!(
        "packet: mapped AF_PACKET rings, frames copied, the host stack receives them too, driver {}, {rx} rx and {tx} tx ring{}",
        target.interface.driver(),
        if tx == 1 { "" } else { "s" }
    )
}
