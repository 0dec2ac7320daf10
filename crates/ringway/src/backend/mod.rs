//! What serves a port's rings. A backend is called once per sync, never per frame.

mod auto;
mod beside_host;
pub(crate) mod ebpf;
pub(crate) mod link;
pub(crate) mod middle;
pub(crate) mod nic;
pub(crate) mod null;
pub(crate) mod packet;
pub(crate) mod pcap;
pub(crate) mod pipe;
mod vale;
mod vale_out;
pub(crate) mod xdp;

pub(crate) use auto::with_chosen;
use auto::{Chosen, choose};
pub(crate) use beside_host::refuse_packet_sockets;

use std::fmt::Debug;
use std::sync::Arc;

use crate::count::{PortCounters, Registration};
use crate::error::{Error, Result};
use crate::memory::{Region, RegionSpec};
use crate::name::{NicRings, PortName};
use crate::port::{Made, OpenOptions, Port};
use crate::ring::{Lease, PortShape, RingParts, RingView, RxRing, RxSync, TxRing, TxSync};

/// A port as a whole.
pub(crate) trait Control: Send + Sync + Debug {
    /// Adds what the backend counted itself.
    fn counters(&self, _sum: &mut PortCounters) {}

    /// Fails when the port's interface is gone; false when its link is down.
    fn link_up(&self) -> Result<bool> {
        Ok(true)
    }

    /// Whether nothing will ever be received again.
    fn ended(&self) -> bool {
        false
    }

    /// One line that says what serves the port and what it can't do.
    fn describe(&self) -> String;
}

/// A port without anything to ask or count beyond its rings.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) String);

impl Control for Plain {
    fn describe(&self) -> String {
        self.0.clone()
    }
}

/// Slots of a ring when the user names no number.
const SLOTS: u32 = 1024;

/// Bytes of a buffer.
const BUF_SIZE: u32 = 2048;

/// Refuses the options `take` and `copy` for ports that can't leave frames to somebody else.
fn check_sharing(name: &PortName, options: &OpenOptions) -> Result<()> {
    let refuse = |what: &str, cure: &str| {
        Err(Error::new(crate::ErrorKind::Unsupported, name.to_string(), what).cure(cure))
    };
    let to_nic = matches!(name, PortName::Ebpf { rings, .. } if *rings != NicRings::Host);
    if options.send_only && !to_nic {
        return refuse(
            "only an `ebpf:` port of an interface can send without receiving",
            "open it without `send_only`",
        );
    }
    if options.send_only && (options.take.is_some() || options.copy) {
        return refuse(
            "a port that only sends takes and copies nothing",
            "open it without `take` and `copy`",
        );
    }
    match name {
        PortName::Ebpf { .. } => Ok(()),
        PortName::Xdp { .. } if options.copy => {
            refuse("an AF_XDP socket takes the frame itself", "use ebpf: or packet: for copies")
        }
        PortName::Packet { .. } if options.take.is_some() => {
            refuse("packet sockets leave all frames to the host", "use ebpf: or xdp: to take some")
        }
        // What wraps a port leaves these options to it.
        _ if name.is_of_interface() => Ok(()),
        _ if options.take.is_some() || options.copy => {
            let what =
                "only ports of interfaces can take some frames or copies and leave the rest to the host";
            refuse(what, "open it without `take` and `copy`")
                .map_err(|e| e.with_kind(crate::ErrorKind::Invalid))
        }
        _ => Ok(()),
    }
}

/// Opens the port called `name`.
pub(crate) fn open(chosen: &Chosen, options: &OpenOptions) -> Result<Port> {
    Port::assemble(
        make(&chosen.name, &OpenOptions { zero_copy: chosen.zero_copy(), ..options.clone() })?,
        &chosen.why,
    )
}

fn make(name: &PortName, options: &OpenOptions) -> Result<Made> {
    check_sharing(name, options)?;
    match name {
        PortName::Auto { .. } => make(&choose(name.clone(), &[])?.name, options),
        PortName::Null { len } => null::open(*len, &Setup::new(name, options, one_pair(options), BUF_SIZE)?),
        PortName::Loop => pipe::open_loop(&Setup::new(name, options, one_pair(options), BUF_SIZE)?),
        PortName::Pipe { name: pipe, id, end } => pipe::open(pipe, id, *end, options),
        PortName::Pcap { file, mode } => {
            pcap::open(file, *mode, &Setup::new(name, options, pcap::shape(*mode, options), BUF_SIZE)?)
        }
        PortName::Vale { switch, port } => vale::open(switch, port, options),
        PortName::Ebpf { interface, rings } => ebpf::open(name, interface, *rings, options),
        PortName::Xdp { interface, rings } => xdp::open(name, interface, *rings, options),
        PortName::Packet { interface, rings } => packet::open(name, interface, *rings, options),
        PortName::Tap { options: tap, port } => {
            let inside = make(port, options)?;
            middle::watch(name, inside, tap.dir, middle::tap::Tap::create(name, tap)?)
        }
        PortName::Trace { options: trace, port } => {
            let inside = make(port, options)?;
            middle::watch(name, inside, trace.dir, middle::trace::Trace::create(name, trace)?)
        }
        PortName::Fault { options: fault, port } => middle::fault::open(name, fault, port, options),
    }
}

/// The region in which all of `names`, with zero copy or without, can be opened, or `None` when each makes its own.
pub(crate) fn common_region(names: &[(&PortName, bool)], options: &OpenOptions) -> Result<Option<Region>> {
    let mut spec: Option<RegionSpec> = None;
    for &(name, zero_copy) in names {
        let options = &OpenOptions { zero_copy, ..options.clone() };
        let one = match name.innermost() {
            PortName::Pcap { mode, .. } => pcap::shape(*mode, options).region(BUF_SIZE),
            PortName::Ebpf { interface, rings } => ebpf::spec(interface, *rings, options)?,
            PortName::Xdp { interface, rings } => xdp::spec(interface, *rings, options)?,
            PortName::Packet { interface, rings } => packet::spec(interface, *rings, options)?,
            _ => one_pair(options).region(BUF_SIZE),
        };
        // Pipes and switch ports lie in regions of their own; what wraps them does not.
        let own = u32::from(!matches!(name.innermost(), PortName::Pipe { .. } | PortName::Vale { .. }));
        for _ in 0..own + middle::own_rings(name) {
            spec = Some(spec.map_or(one, |s| s.plus(&one)));
        }
    }
    let Some(mut spec) = spec else { return Ok(None) };
    spec.buffers += options.extra_bufs;
    let bpf = names.iter().map(|(n, _)| n.innermost()).find(|n| matches!(n, PortName::Ebpf { .. }));
    bpf.map_or_else(|| Region::memfd(&spec), |n| crate::memory::bpf_array(&spec, &n.to_string())).map(Some)
}

fn one_pair(options: &OpenOptions) -> PortShape {
    PortShape { tx_rings: 1, rx_rings: 1, slots: options.slots.unwrap_or(SLOTS), host: false }
}

/// What every backend needs first: a place in a region and counters.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) shape: PortShape,
    pub(crate) region: Region,
    pub(crate) lease: Arc<Lease>,
    pub(crate) registration: Arc<Registration>,
}

impl Setup {
    /// In the region given, or in one of its own with buffers of `buf_size` bytes.
    pub(crate) fn new(
        name: &PortName,
        options: &OpenOptions,
        shape: PortShape,
        buf_size: u32,
    ) -> Result<Self> {
        let region = match &options.region {
            Some(r) => r.clone(),
            None => {
                let mut spec = shape.region(buf_size);
                spec.buffers += options.extra_bufs;
                Region::memfd(&spec)?
            }
        };
        Self::within(name, region, shape)
    }

    pub(crate) fn within(name: &PortName, region: Region, shape: PortShape) -> Result<Self> {
        let name = name.to_string();
        if !(2..=region.shared().layout.slots).contains(&shape.slots) {
            let max = region.shared().layout.slots;
            return Err(Error::new(crate::ErrorKind::Invalid, name, format!("{} slots a ring", shape.slots))
                .cure(format!("a ring of this region has 2 to {max} slots")));
        }
        let lease = Lease::take(&region, &name, &shape)?;
        let registration = Registration::new(&name, shape.tx_rings, shape.rx_rings)?;
        Ok(Self { name, shape, region, lease, registration })
    }

    /// The views of the tx rings, then of the rx rings.
    pub(crate) fn views(&self) -> (Vec<RingView>, Vec<RingView>) {
        let mut tx: Vec<_> = self.lease.views().collect();
        let rx = tx.split_off(self.shape.tx_rings as usize);
        (tx, rx)
    }

    /// A fresh tx ring: all slots but one belong to the program.
    pub(crate) fn tx_ring(&self, view: RingView, ring: u32, backend: Box<dyn TxSync>) -> TxRing {
        let tail = view.num() - 1;
        TxRing::new(self.parts(view, 0, tail, self.registration.tx(ring)), backend)
    }

    /// A fresh rx ring: empty.
    pub(crate) fn rx_ring(&self, view: RingView, ring: u32, backend: Box<dyn RxSync>) -> RxRing {
        RxRing::new(self.parts(view, 0, 0, self.registration.rx(ring)), backend)
    }

    fn parts(&self, view: RingView, first: u32, tail: u32, stats: crate::count::RingStats) -> RingParts {
        RingParts { view, first, tail, stats, lease: self.lease.clone() }
    }

    /// The port, of which only the control part is missing.
    pub(crate) fn finish(
        &self,
        rx: Vec<RxRing>,
        tx: Vec<TxRing>,
        max_frame: u32,
        control: impl Control + 'static,
    ) -> Made {
        Made {
            name: self.name.clone(),
            region: self.region.clone(),
            shape: self.shape,
            rx,
            tx,
            registration: self.registration.clone(),
            control: Arc::new(control),
            max_frame,
        }
    }
}
