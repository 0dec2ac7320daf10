//! Where frames for an interface go: to the port that stands for it, by a port that only sends, or to the kernel.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use ringway_shim::Coalesce;

use crate::config::Config;
use crate::frame::HEADER;
use crate::link::{Link, LinkRef};
use crate::report;
use crate::sys::kernel::{self, KernelSocket};

/// How long a stream stops when it leaves the kernel's socket for a port.
const CHANGE: Duration = Duration::from_millis(1);

/// Where frames for an interface go.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) index: c_int,
    name: String,
    pub(crate) mtu: usize,
    pub(crate) address: [u8; 6],
    pub(crate) hardware: u16,
    pub(crate) way: Way,
}

#[derive(Debug)]
pub(crate) enum Way {
    /// To the port that stands for the interface.
    Mapped(LinkRef),
    /// To the interface itself: by the kernel's socket, and by a port that only sends once that pays.
    Plain(Stream),
    Sender(LinkRef),
    Kernel,
}

/// Frames that the kernel sends, as long as it does.
#[derive(Debug)]
pub(crate) struct Stream {
    rule: Coalesce,
    dense: usize,
}

impl Stream {
    /// Frames of a dense stream from which on a port is opened for it.
    const PAYS: usize = 64;

    /// Frames of one call that are a stream, however far it is from the one before.
    const BURST: usize = 32;

    fn new() -> Self {
        Self { rule: Coalesce::new(Config::get().bound), dense: 0 }
    }

    /// Notes a frame that is sent in a call of `frames`, `usize::MAX` for what waits in a mapped ring. Whether it is part of a
    /// stream that is long enough.
    #[inline]
    fn pays(&mut self, frames: usize) -> bool {
        let dense = frames >= Self::BURST || self.rule.bound().is_some() && self.rule.waits(Instant::now());
        let step = (frames / Self::BURST).max(1);
        self.dense = if dense { self.dense.saturating_add(step) } else { 0 };
        self.dense >= Self::PAYS
    }
}

/// A process without CAP_NET_RAW has mapped interfaces only.
fn refuse_plain(interface: &str) -> c_int {
    report::say(&format!(
        "packet sockets of {interface} need CAP_NET_RAW; map it to a port of a switch that is yours (--map {interface}=SWITCH:PORT)"
    ));
    libc::EPERM
}

impl Route {
    /// For interface `index`; `None` when there is no such interface.
    pub(crate) fn find(socket: KernelSocket, index: c_int) -> Option<Result<Self, c_int>> {
        let name = kernel::interface_name(socket, index).ok()?;
        let way = match Config::get().port_of(&name) {
            None if socket.isolated => return Some(Err(refuse_plain(&name))),
            None => Way::Plain(Stream::new()),
            Some(port) => match Link::open(port, false) {
                Ok(link) => Way::Mapped(link),
                Err(code) => return Some(Err(code)),
            },
        };
        let mtu = kernel::mtu(socket, &name).unwrap_or(1500);
        let (address, hardware) = kernel::address(socket, &name).unwrap_or_default();
        // Frames of loopback and of other interfaces without Ethernet headers are the kernel's business.
        let way =
            if matches!(way, Way::Plain(_)) && hardware != libc::ARPHRD_ETHER { Way::Kernel } else { way };
        Some(Ok(Self { index, name, mtu, address, hardware, way }))
    }

    /// The link that takes a frame for this interface, in a call of `frames`; `None` for the kernel.
    #[inline]
    pub(crate) fn link(&mut self, frames: usize) -> Option<&LinkRef> {
        if let Way::Plain(stream) = &mut self.way
            && stream.pays(frames)
        {
            self.change();
        }
        match &self.way {
            Way::Mapped(link) | Way::Sender(link) => Some(link),
            _ => None,
        }
    }

    #[cold]
    fn change(&mut self) {
        // One ring will do, unless its name is that of another interface.
        let one = format!("{}-0", self.name);
        let name = if kernel::exists(&one) { &self.name } else { &one };
        self.way = match Link::sender(&format!("ebpf:{name}")) {
            Ok(None) => return,
            // Frames that fit into several buffers only, some drivers take from the kernel alone.
            Ok(Some(link)) if link.longest() < self.mtu + HEADER => Way::Kernel,
            Ok(Some(link)) => {
                // What the kernel still has of frames sent before leaves before what follows.
                std::thread::sleep(CHANGE);
                Way::Sender(link)
            }
            Err(_) => Way::Kernel,
        };
    }

    /// Whether a frame of `len` bytes with this type is too long for the interface; a tag is extra. Asks again for an MTU
    /// that may have grown.
    #[inline]
    pub(crate) fn too_long(&mut self, socket: KernelSocket, len: usize, tagged: bool) -> bool {
        let more = HEADER + if tagged { 4 } else { 0 };
        if len <= self.mtu + more {
            return false;
        }
        self.mtu = kernel::mtu(socket, &self.name).unwrap_or(self.mtu);
        len > self.mtu + more
    }
}
