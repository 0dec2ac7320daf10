//! All kinds of ports, a row for each.

use std::str::FromStr;
use std::sync::Arc;

use crate::backend::outside::{self, Backend};
use crate::backend::{dpdk, ebpf, memif, null, packet, pcap, pipe, vale, wrap, xdp};
use crate::error::{Error, ErrorKind, Result};
use crate::port::name::{PortName, Text, bad, parse};
use crate::port::{Kind, Open, refuse_send_only};

/// Ports inside ports, the innermost included.
const MAX_DEPTH: u32 = 8;

/// A port of the kind that serves an interface best, which [`auto`](super::auto) chooses.
const AUTO: Kind =
    Kind { scheme: "auto", goes_on: false, parse: parse::auto, refuses: refuse_send_only, open: Open::Best };

/// Where a new backend has its row.
static KINDS: [&Kind; 14] = [
    &AUTO,
    &ebpf::KIND,
    &xdp::KIND,
    &packet::KIND,
    &pipe::PIPE,
    &vale::KIND,
    &memif::KIND,
    &pcap::KIND,
    &dpdk::KIND,
    &null::KIND,
    &pipe::LOOP,
    &wrap::tap::KIND,
    &wrap::fault::KIND,
    &wrap::trace::KIND,
];

/// The kind of the ports whose names have this scheme.
fn with_scheme(scheme: &str) -> Option<&'static Kind> {
    let built_in = KINDS.into_iter().find(|kind| kind.has(scheme));
    built_in.or_else(|| outside::is_registered(scheme).then_some(&outside::OTHER))
}

/// The kind of a port.
pub(super) fn of(name: &PortName) -> &'static Kind {
    match name {
        PortName::Registered { .. } => &outside::OTHER,
        _ => with_scheme(name.scheme()).unwrap_or(&AUTO),
    }
}

/// Registers a backend: from now on, and as long as the process lives, names that begin with `scheme` and a colon open its ports.
/// See [`backend`](crate::backend).
///
/// # Errors
/// [`ErrorKind::Busy`] when the scheme is taken, [`ErrorKind::BadName`] when it is none: it has 1 to 15 small letters, digits, `_` or
/// `-`, and begins with a letter.
pub fn register_backend(scheme: &str, backend: impl Backend + 'static) -> Result<()> {
    if KINDS.into_iter().any(|kind| kind.has(scheme)) {
        return Err(Error::new(ErrorKind::Busy, scheme, "ports of Ringway have this scheme")
            .cure("register the backend under another one"));
    }
    outside::add(scheme, Arc::new(backend))
}

impl FromStr for PortName {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        read(s, 0)
    }
}

/// Reads the name of a port that lies in `depth` others.
fn read(whole: &str, depth: u32) -> Result<PortName> {
    let inside = |inner: &str| match depth + 1 < MAX_DEPTH {
        true => read(inner, depth + 1),
        false => Err(bad(whole, "up to 8 ports go into each other")),
    };
    let (scheme, rest) = whole.split_once(':').unwrap_or((AUTO.scheme, whole));
    let kind =
        with_scheme(scheme).ok_or_else(|| bad(whole, &format!("port names start with {}", schemes())))?;
    (kind.parse)(&Text { whole, scheme, rest, inside: &inside })
}

/// All schemes, for people.
fn schemes() -> String {
    let all = KINDS.iter().map(|kind| format!("{}{}:", kind.scheme, if kind.goes_on { "X" } else { "" }));
    let all: Vec<String> = all.chain(outside::schemes().into_iter().map(|scheme| scheme + ":")).collect();
    let (last, others) = all.split_last().expect("there are kinds");
    format!("{} or {last}", others.join(", "))
}
