//! What a port consists of.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use ringway::PortInfo;

use super::books::Books;
use crate::receive::Receiver;
use crate::send::Sender;

/// The sending side of one ring; nothing after the port was closed.
pub(super) type Side = Mutex<Option<Sender>>;

/// A port, opened by its name: `Port("ebpf:eth0")`.
///
/// It is an iterator of bursts, and a context manager. `burst` is the most frames of a burst, `hold` the most frames that the program
/// holds at once, `filter` which frames it wants. `take`, `copy`, `send_only` and `promiscuous` are for ports of interfaces.
#[pyclass(frozen, module = "ringway")]
pub(crate) struct Port {
    pub(super) receiver: Mutex<Option<Receiver>>,
    pub(super) senders: Vec<Side>,
    pub(super) books: Books,
    pub(super) info: PortInfo,
    pub(super) burst: usize,
    pub(super) exchanges: bool,
    pub(super) closing: AtomicBool,
    pub(super) ended: AtomicBool,
}
