//! `memif:SOCKET`: shared memory with a program of DPDK or VPP, or with another one of Ringway ([`ringway_memif`]).
//!
//! | part | how |
//! | --- | --- |
//! | connection | the rings look after it in their syncs; a lost peer comes back by itself |
//! | copies | [`tx`] and [`rx`]: into the client's buffers and out of them, whichever end this is |
//! | no copies | [`lend_tx`] and [`lend_rx`]: a client offers the buffers of its region |
//! | wake-up | the peer's interrupt while a ring sleeps; a ring that is synced masks it |
//!
//! Trust: the peer may write its counters and descriptors at any time. Each word is read once and checked, and a wrong one ends the
//! connection with a reason. While no peer is there frames to send wait in the ring.

mod attachment;
mod connector;
mod core;
mod interface;
mod lend_rx;
mod lend_tx;
mod rx;
mod secret;
mod sent;
mod shared_buffers;
mod socket;
#[cfg(test)]
mod tests;
mod tx;
mod waker;

use std::sync::{Arc, Mutex, Weak};

use ringway_memif::{Access, Address, Terms};

use self::connector::{Connector, Wish};
use self::core::{Core, Way};
use self::interface::Interface;
use self::lend_rx::LendRx;
use self::lend_tx::LendTx;
use self::rx::MemifRx;
use self::socket::Socket;
use self::tx::MemifTx;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Region;
use crate::port::name::{MemifOptions, MemifRole, PortName, bad, memif};
use crate::port::{Control, Kind, Made, Open, OpenOptions, SLOTS, Setup, refuse_send_only, wrong_kind};
use crate::ring::{PortShape, RxSync, TxSync};

/// Ports called `memif:`.
pub(crate) const KIND: Kind = Kind {
    scheme: "memif",
    goes_on: false,
    parse: memif,
    refuses: refuse_send_only,
    open: Open::Alone {
        region: |name, options| match name {
            PortName::Memif { options: own, .. } => Ok(shape(own, options).region(BUF_SIZE)),
            other => Err(wrong_kind(other)),
        },
        foreign_region: false,
        open: |name, options| match name {
            PortName::Memif { socket, options: own } => open(name, socket, own, options),
            other => Err(wrong_kind(other)),
        },
    },
};

/// Bytes of a buffer: 33 cache lines, for the reason given at `ebpf:`.
const BUF_SIZE: u32 = 2112;

/// Whether the port offers the buffers of its region to its peer.
pub(crate) fn offers_its_buffers(name: &PortName) -> bool {
    matches!(name, PortName::Memif { options, .. } if options.zero_copy)
}

fn shape(own: &MemifOptions, options: &OpenOptions) -> PortShape {
    let slots = options.slots.or(own.slots.map(u32::from)).unwrap_or(SLOTS);
    PortShape { tx_rings: own.rings.into(), rx_rings: own.rings.into(), slots, host: false }
}

/// The port as a whole. It holds no connection: who only reads counters keeps nothing open.
#[derive(Debug)]
struct Whole(Weak<Core>);

impl Control for Whole {
    fn link_up(&self) -> Result<bool> {
        let core = self.0.upgrade();
        core.as_ref().inspect(|core| core.look_now());
        Ok(core.is_some_and(|core| core.is_up()))
    }

    fn describe(&self) -> String {
        self.0.upgrade().map_or_else(|| "memif: closed".into(), |core| core.describe())
    }

    fn status(&self) -> String {
        self.0.upgrade().map_or_else(|| "memif: closed".into(), |core| core.status())
    }
}

fn open(name: &PortName, socket: &str, own: &MemifOptions, options: &OpenOptions) -> Result<Made> {
    let shape = shape(own, options);
    let setup = if own.zero_copy && options.region.is_none() {
        let mut spec = shape.region(BUF_SIZE);
        spec.buffers += options.extra_bufs;
        Setup::within(name, Region::with_buffers_apart(&spec)?, shape)?
    } else {
        Setup::new(name, options, shape, BUF_SIZE)?
    };
    if own.zero_copy && setup.region.buffers_file().is_none() {
        let what = "the buffers of the region given lie in one file with its rings";
        return Err(Error::new(ErrorKind::Invalid, &setup.name, what)
            .cure("open it without zero-copy=yes, or without the ebpf: port beside it"));
    }
    let core = connect(&setup.name, socket, own, &setup)?;
    core.look_now();
    let (tx, rx) = setup.views();
    let tx = tx.into_iter().enumerate().map(|(k, view)| {
        let stats = setup.registration.tx(k as u32);
        let side: Box<dyn TxSync> = match own.zero_copy {
            true => Box::new(LendTx::new(core.clone(), k, view.clone(), stats)?),
            false => Box::new(MemifTx::new(core.clone(), k, stats)?),
        };
        Ok(setup.tx_ring(view, k as u32, side))
    });
    let tx = tx.collect::<Result<Vec<_>>>()?;
    let rx = rx.into_iter().enumerate().map(|(k, view)| {
        let stats = setup.registration.rx(k as u32);
        let side: Box<dyn RxSync> = match own.zero_copy {
            true => Box::new(LendRx::new(core.clone(), k, view.clone(), stats)?),
            false => Box::new(MemifRx::new(core.clone(), k, stats)?),
        };
        Ok(setup.rx_ring(view, k as u32, side))
    });
    let rx = rx.collect::<Result<Vec<_>>>()?;
    Ok(setup.finish(rx, tx, u32::from(u16::MAX), Whole(Arc::downgrade(&core))))
}

/// Listens, or begins to connect.
fn connect(name: &str, socket: &str, own: &MemifOptions, setup: &Setup) -> Result<Arc<Core>> {
    let address = Address::parse(socket).ok_or_else(|| bad(name, "name the socket"))?;
    let access = if own.any_user { Access::Any } else { Access::Own };
    let secret =
        own.secret.as_deref().map_or(Ok([0; ringway_memif::SECRET]), |file| secret::read(file, name))?;
    match own.role {
        MemifRole::Server => {
            let terms = Terms { rings: own.rings, secret, unsealed: own.unsealed };
            let socket = Socket::at(&address, access, name)?;
            let way = Way::Serve { socket: socket.clone(), id: own.id, terms };
            let core = Arc::new(Core::new(name.into(), way, own.rings)?);
            let interface: Arc<dyn Interface> = core.clone();
            socket.add(own.id, &interface)?;
            Ok(core)
        }
        MemifRole::Client => {
            let wish = Wish {
                address,
                access,
                id: own.id,
                secret,
                rings: own.rings,
                log2: log2(own, setup.shape.slots),
                size: own.size,
                shared: own.zero_copy.then(|| setup.region.clone()),
            };
            let core =
                Core::new(name.into(), Way::Connect(Box::new(Mutex::new(Connector::new(wish)))), own.rings)?;
            Ok(Arc::new(core))
        }
    }
}

/// Slots of the rings that a client makes, as a power of two: as many as asked for, or as the program's rings have.
fn log2(own: &MemifOptions, slots: u32) -> u8 {
    let slots = own.slots.map_or(slots, u32::from).next_power_of_two();
    slots.trailing_zeros().clamp((*ringway_memif::LOG2.start()).into(), (*ringway_memif::LOG2.end()).into())
        as u8
}
