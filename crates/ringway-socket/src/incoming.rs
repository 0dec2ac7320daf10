//! Calls that receive, up to the memory of the program: wait for a frame, take it, say what goes with it.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use ringway::offload::Offload;

use crate::address;
use crate::flusher;
use crate::frame::{Frame, HEADER, Meta};
use crate::receiver::Receiver;
use crate::report;
use crate::socket::{Options, Socket, Stamps};
use crate::sys::guard::Inside;
use crate::sys::kernel;
use crate::sys::memory::Scatter;

/// What a call got.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Got {
    /// Bytes written, and bytes that there were.
    pub(crate) copied: usize,
    pub(crate) len: usize,
    pub(crate) from: [u8; address::LEN],
    pub(crate) meta: Meta,
    pub(crate) options: Options,
    /// Bytes of the frame before a filter cut it, and those before its network header, for `PACKET_AUXDATA`.
    pub(crate) uncut: usize,
    pub(crate) net: u16,
}

/// Receives one frame. `None`: the socket does not receive from a port, or its thread is inside already.
pub(crate) fn receive(
    fd: RawFd,
    socket: &'static Socket,
    flags: c_int,
    room: Scatter<'_>,
) -> Option<Result<Got, c_int>> {
    let mut sleeper = Sleeper::new(flags);
    while socket.receives() {
        let inside = Inside::enter()?;
        let state = socket.state();
        let (dgram, options) = (state.dgram, state.options);
        let inlet = state.inlet.as_ref()?;
        let (link, id) = (inlet.link.0, inlet.id);
        drop(state);
        let mut inner = match link.ready() {
            Ok(inner) => inner,
            Err(code) => return Some(Err(code)),
        };
        let about = inner.receiver(id)?.wish.about;
        let leave = flags & libc::MSG_PEEK != 0;
        let write = |frame: &Frame<'_>| {
            let (copied, len) = copy(frame, dgram, options, room);
            let from = address::of(frame, about.index, about.hardware);
            let (hidden, net) = if dgram { (HEADER, 0) } else { (0, HEADER as u16) };
            let uncut = frame.bytes.len() - hidden;
            Got { copied, len, from, meta: frame.meta, options, uncut, net }
        };
        match inner.take(id, leave, write) {
            Ok(Some(got)) => {
                report::frames_received(1);
                return Some(Ok(got));
            }
            Ok(None) if sleeper.never(fd, socket) => return Some(Err(libc::EAGAIN)),
            Ok(None) => {}
            Err(code) => return Some(Err(code)),
        }
        let watch = match inner.arm() {
            Ok(true) => continue,
            Ok(false) => inner.receiver(id).map(|r| Receiver::watch(r))?,
            Err(code) => return Some(Err(code)),
        };
        drop(inner);
        flusher::flush_all();
        drop(inside);
        if let Err(code) = sleeper.sleep(watch) {
            return Some(Err(code));
        }
    }
    None
}

fn copy(frame: &Frame<'_>, dgram: bool, options: Options, room: Scatter<'_>) -> (usize, usize) {
    let from = if dgram { HEADER } else { 0 };
    let bytes = frame.bytes.get(from..frame.meta.snap.max(from)).unwrap_or_default();
    let none = [0; Offload::HEADER_LEN];
    let vnet: &[u8] = if options.vnet { &none } else { &[] };
    (room.put(&[vnet, bytes]), vnet.len() + bytes.len())
}

/// How a call waits: not at all, for a time, for ever.
#[derive(Debug)]
struct Sleeper {
    never: bool,
    asked: bool,
    until: Option<Instant>,
}

impl Sleeper {
    fn new(flags: c_int) -> Self {
        Self { never: flags & libc::MSG_DONTWAIT != 0, asked: false, until: None }
    }

    /// Whether the call must not sleep; if it may, finds out for how long.
    fn never(&mut self, fd: RawFd, socket: &Socket) -> bool {
        if self.never || socket.nonblocking() {
            return true;
        }
        if !self.asked {
            self.asked = true;
            self.until = kernel::patience(fd).map(|p| Instant::now() + p);
        }
        false
    }

    fn sleep(&self, watch: RawFd) -> Result<(), c_int> {
        let left = self.until.map(|t| t.saturating_duration_since(Instant::now()));
        if left.is_some_and(|l| l.is_zero()) {
            return Err(libc::EAGAIN);
        }
        match kernel::sleep_on(watch, left) {
            Err(libc::EINTR) if self.until.is_none() && kernel::restarts() => Ok(()),
            Err(code) => Err(code),
            Ok(_) => Ok(()),
        }
    }
}

/// Messages beside the bytes, as `cmsghdr`s.
pub(crate) fn control(got: &Got) -> Vec<u8> {
    let mut out = Vec::new();
    let stamp = got.meta.stamp;
    match got.options.stamps {
        Stamps::None => {}
        Stamps::Micros => {
            message(&mut out, libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &time(stamp, stamp.subsec_micros()))
        }
        Stamps::Nanos => {
            message(&mut out, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time(stamp, stamp.subsec_nanos()))
        }
    }
    if got.options.auxdata {
        message(&mut out, libc::SOL_PACKET, libc::PACKET_AUXDATA, &auxdata(got));
    }
    out
}

fn message(out: &mut Vec<u8>, level: c_int, kind: c_int, data: &[u8]) {
    let len = 16 + data.len();
    out.extend_from_slice(&len.to_ne_bytes());
    out.extend_from_slice(&level.to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(8), 0);
}

fn time(stamp: Duration, part: u32) -> Vec<u8> {
    [(stamp.as_secs() as i64).to_ne_bytes(), i64::from(part).to_ne_bytes()].concat()
}

/// `struct tpacket_auxdata`.
fn auxdata(got: &Got) -> Vec<u8> {
    const USER: u32 = 1;
    const VLAN: u32 = 1 << 4 | 1 << 6;
    let (tci, tpid) = got.meta.vlan.unwrap_or_default();
    let status = USER | if got.meta.vlan.is_some() { VLAN } else { 0 };
    let words = [status, got.uncut as u32, got.len as u32];
    let halves = [0, got.net, tci, tpid];
    [words.map(u32::to_ne_bytes).concat(), halves.map(u16::to_ne_bytes).concat()].concat()
}
