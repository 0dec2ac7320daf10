//! The row of all registered backends in the table of kinds, and how their ports open.

use std::sync::Arc;

use super::registry::find;
use super::sides::{RxSide, TxSide};
use super::{Backend, Parts};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::RegionSpec;
use crate::port::name::{PortName, Text};
use crate::port::{BUF_SIZE, Kind, Made, Open, OpenOptions, Setup, one_pair, refuse_send_only, wrong_kind};
use crate::ring::PortShape;

/// Ports of backends that programs have registered.
pub(crate) static OTHER: Kind = Kind {
    scheme: "",
    goes_on: true,
    parse,
    refuses: refuse_send_only,
    open: Open::Alone { region, foreign_region: false, open },
};

/// Whether a program has registered a backend for the scheme.
pub(crate) fn is_registered(scheme: &str) -> bool {
    find(scheme).is_some()
}

fn parse(text: &Text<'_>) -> Result<PortName> {
    Ok(PortName::Registered { scheme: text.scheme.to_owned(), rest: text.rest.to_owned() })
}

/// The backend of a name, what the name says behind the colon, and the shape of its ports.
fn lookup<'a>(name: &'a PortName, options: &OpenOptions) -> Result<(Arc<dyn Backend>, &'a str, PortShape)> {
    let PortName::Registered { scheme, rest } = name else { return Err(wrong_kind(name)) };
    let backend = find(scheme).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, name.to_string(), "no backend is registered for the scheme")
            .cure("call register_backend first")
    })?;
    let (rx_rings, tx_rings) = backend.rings(rest)?;
    if rx_rings.max(tx_rings) == 0 || rx_rings.max(tx_rings) > MOST_RINGS {
        let what = format!("{rx_rings} rx rings and {tx_rings} tx rings");
        return Err(Error::new(ErrorKind::Invalid, name.to_string(), what)
            .cure(format!("a port has up to {MOST_RINGS} rings of each kind, and one at least")));
    }
    Ok((backend, rest, PortShape { tx_rings, rx_rings, ..one_pair(options) }))
}

/// Rings of one direction.
const MOST_RINGS: u32 = 256;

fn region(name: &PortName, options: &OpenOptions) -> Result<RegionSpec> {
    lookup(name, options).map(|(.., shape)| shape.region(BUF_SIZE))
}

fn open(name: &PortName, options: &OpenOptions) -> Result<Made> {
    let (backend, rest, shape) = lookup(name, options)?;
    let Parts { rx, tx, control, max_frame } = backend.open(rest)?;
    if (rx.len(), tx.len()) != (shape.rx_rings as usize, shape.tx_rings as usize) {
        let what = format!("the backend made {} rx rings and {} tx rings", rx.len(), tx.len());
        let cure = format!("let it make the {} and {} that its `rings` says", shape.rx_rings, shape.tx_rings);
        return Err(Error::new(ErrorKind::Invalid, name.to_string(), what).cure(cure));
    }
    let setup = Setup::new(name, options, shape, BUF_SIZE)?;
    let (tx_views, rx_views) = setup.views();
    let rx = (0..).zip(rx_views).zip(rx).map(|((ring, view), side)| {
        let side = RxSide::new(side, setup.registration.rx(ring));
        setup.rx_ring(view, ring, Box::new(side))
    });
    let tx = (0..).zip(tx_views).zip(tx).map(|((ring, view), side)| {
        let side = TxSide::new(side, setup.registration.tx(ring));
        setup.tx_ring(view, ring, Box::new(side))
    });
    let (rx, tx) = (rx.collect(), tx.collect());
    Ok(setup.finish(rx, tx, max_frame, control))
}
