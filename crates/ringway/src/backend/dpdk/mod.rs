//! `dpdk:DEVARGS`: devices of DPDK, by a plugin that is loaded when the first one opens.
//!
//! | part | how |
//! | --- | --- |
//! | the plugin | `libringway_dpdk.so`, a small library of C around DPDK's inline functions; see [`crate::sys::dpdk`] |
//! | receive | a queue for each rx ring; a sync copies frames out of DPDK's buffers into slots |
//! | send | a queue for each tx ring; a sync copies frames into DPDK's buffers, one each |
//! | several rings | the device shares frames out by the hash of the flow (RSS) where it can, else by its own rule |
//! | offloads | none is asked of the device: checksums are finished, super-frames cut, tags put back here |
//! | wake-up | a timer: see [`tick`] |
//!
//! The device is made when the port opens, and removed when the last of its rings is dropped. DPDK itself stays in the process.

mod core;
mod losses;
mod rx;
mod tick;
mod tx;

use std::sync::{Arc, Weak};

use self::core::Core;
use self::losses::Losses;
use crate::backend::gather::HEADER;
use crate::count::PortCounters;
use crate::error::{Error, ErrorKind, Result};
use crate::nic;
use crate::port::name::{PortName, dpdk};
use crate::port::{
    BUF_SIZE, Control, Kind, Made, Open, OpenOptions, Setup, one_pair, refuse_send_only, wrong_kind,
};
use crate::ring::{Finisher, PortShape};
use crate::sys::dpdk::{Ask, Device, DeviceInfo, Opened, open as open_device};
use crate::sys::promiscuous::Promiscuous;

/// Ports called `dpdk:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "dpdk",
    goes_on: false,
    parse: dpdk::dpdk,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |name, options| Ok(shape(name, options)?.region(BUF_SIZE)),
        foreign_region: false,
        open,
    },
};

/// Descriptors of a queue: as many as the ring has slots, within these bounds. The device holds what comes while its reader sleeps.
const DESCRIPTORS: (u32, u32) = (512, 2048);

/// A ring of each direction for each queue.
fn shape(name: &PortName, options: &OpenOptions) -> Result<PortShape> {
    match name {
        PortName::Dpdk { queues, .. } => {
            Ok(PortShape { tx_rings: *queues, rx_rings: *queues, ..one_pair(options) })
        }
        other => Err(wrong_kind(other)),
    }
}

/// The port as a whole. It does not hold the device: who only reads counters keeps nothing open.
#[derive(Debug)]
struct Whole {
    core: Arc<Core>,
    device: Weak<Device>,
    what: String,
}

impl Control for Whole {
    fn counters(&self, sum: &mut PortCounters) {
        self.core.losses.add_untold(sum);
    }

    fn link_up(&self) -> Result<bool> {
        match self.device.upgrade() {
            Some(device) => device.link_up(),
            None => {
                let what = "the device went with the last ring of the port";
                Err(Error::new(ErrorKind::Gone, &self.core.name, what).cure("open the port again"))
            }
        }
    }

    fn describe(&self) -> String {
        self.what.clone()
    }
}

fn open(port: &PortName, options: &OpenOptions) -> Result<Made> {
    let PortName::Dpdk { devargs, queues, mtu } = port else { return Err(wrong_kind(port)) };
    let setup = Setup::new(port, options, shape(port, options)?, BUF_SIZE)?;
    let opened = open_device(&Ask {
        port: &setup.name,
        devargs,
        queues: *queues,
        descriptors: setup.shape.slots.clamp(DESCRIPTORS.0, DESCRIPTORS.1),
        mtu: *mtu,
        promiscuous: options.promiscuous,
    })?;
    let Opened { receivers, senders, device, info } = opened;
    let (promiscuous, unheard) = promiscuous(&setup.name, &info, options)?;
    let device = Arc::downgrade(&device);
    let core = Arc::new(Core {
        name: setup.name.clone(),
        mtu: info.mtu,
        losses: Losses::new(device.clone()),
        _promiscuous: promiscuous,
    });
    let (tx, rx) = setup.views();
    let mut rx_rings = Vec::new();
    for ((view, ring), queue) in rx.into_iter().zip(0..).zip(receivers) {
        let finisher = Finisher::when(!options.raw && leaves_checksums(&info.driver, devargs));
        let side = rx::Receiver::new(core.clone(), queue, finisher, ring == 0, setup.registration.rx(ring))?;
        rx_rings.push(setup.rx_ring(view, ring, Box::new(side)));
    }
    let mut tx_rings = Vec::new();
    for ((view, ring), queue) in tx.into_iter().zip(0..).zip(senders) {
        let side = tx::Transmitter::new(core.clone(), queue, setup.registration.tx(ring))?;
        tx_rings.push(setup.tx_ring(view, ring, Box::new(side)));
    }
    let what = describe(&info, *queues) + unheard;
    Ok(setup.finish(rx_rings, tx_rings, info.mtu + HEADER, Whole { core, device, what }))
}

/// What keeps the interface behind a device promiscuous, as other ports of interfaces do it. Devices without one see to it themselves.
fn promiscuous(
    name: &str,
    info: &DeviceInfo,
    options: &OpenOptions,
) -> Result<(Option<Promiscuous>, &'static str)> {
    match info.interface {
        None => Ok((None, "")),
        Some(_) if info.driver == "net_pcap" && options.promiscuous == Some(false) => {
            let what = "the driver makes its interface promiscuous";
            Err(Error::new(ErrorKind::Unsupported, name, what)
                .cure("open it without `promiscuous`, or as net_af_packet"))
        }
        Some(index) => nic::promiscuous(name, index, options.promiscuous, true),
    }
}

/// What a driver loses without a word in any counter.
fn loses(driver: &str) -> &'static str {
    match driver {
        "net_af_packet" => {
            ", the driver cuts received frames that do not fit its framesz, and does not count what the kernel drops"
        }
        _ => "",
    }
}

/// Whether frames come from interfaces of the kernel by a driver that does not say which checksums the sender left unfinished.
fn leaves_checksums(driver: &str, devargs: &str) -> bool {
    match driver {
        "net_af_packet" | "net_af_xdp" => true,
        "net_pcap" => devargs.contains("iface="),
        _ => false,
    }
}

fn describe(info: &DeviceInfo, queues: u32) -> String {
    let [rx, tx] = info.descriptors;
    let shared = match (queues, info.rss) {
        (1, _) => "",
        (_, true) => ", shared out by flow",
        (_, false) => ", shared out by the driver",
    };
    format!(
        "dpdk: driver {}, frames copied, {queues} queue{}{shared}, {rx} rx and {tx} tx descriptors, wakes up by a timer{}",
        info.driver,
        if queues == 1 { "" } else { "s" },
        loses(&info.driver)
    )
}
