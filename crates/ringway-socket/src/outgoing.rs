//! Frames on their way out: checked as the kernel would, then put into the ring of the port that takes them.

use std::ffi::c_int;
use std::sync::MutexGuard;

use ringway_wire::offload::{Offload, Segments, finish_checksum};

use crate::address::To;
use crate::frame::HEADER;
use crate::link::{Link, LinkState};
use crate::report::{self, Call};
use crate::route::{Route, Way};
use crate::socket::State;
use crate::sys::kernel::KernelSocket;
use crate::sys::memory::Gather;
use crate::tpacket::TxMap;

const VNET: usize = Offload::HEADER_LEN;

/// What became of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is for the kernel to send.
    Kernel,
    /// The bytes sent, or why not.
    Done(Result<usize, c_int>),
}

/// The frames of one call.
pub(crate) struct Outgoing<'a> {
    fd: c_int,
    state: &'a mut State,
    frames: usize,
    /// The link of the last frame, with its lock, and the interface that it is for. The socket's routes keep it open.
    held: Option<Held>,
    index: c_int,
    failed: Option<c_int>,
}

type Held = (&'static Link, MutexGuard<'static, LinkState>);

impl<'a> Outgoing<'a> {
    /// For a call of `frames` frames.
    pub(crate) fn new(fd: c_int, state: &'a mut State, frames: usize) -> Self {
        Self { fd, state, frames, held: None, index: 0, failed: None }
    }

    /// Takes a frame. On a socket with a tx ring this takes what is in the ring, as the kernel does.
    #[inline]
    pub(crate) fn put(&mut self, frame: Gather<'_>, to: Option<To>) -> Put {
        if self.state.rings.tx.is_some() {
            return self.put_ring(to);
        }
        let (index, protocol) = to.map_or((self.state.bound, self.state.protocol), |t| (t.index, t.protocol));
        if self.index != index {
            // Before another link may be opened: links are locked last.
            leave(&mut self.held, &mut self.failed);
            self.index = index;
        }
        let (dgram, vnet) = (self.state.dgram, self.state.options.vnet);
        let kernel = self.state.kernel_socket(self.fd);
        let route = match self.state.route(self.fd, index) {
            None => return Put::Kernel,
            Some(Err(code)) => return Put::Done(Err(code)),
            Some(Ok(route)) => route,
        };
        let address = route.address;
        let Some(link) = route.link(self.frames) else { return Put::Kernel };
        let link = link.0;
        let mut header = [0; HEADER];
        let head: &[u8] = match to {
            _ if !dgram => &[],
            Some(to) => {
                write_header(&mut header, &to, address, protocol);
                &header
            }
            None => return Put::Done(Err(libc::EINVAL)),
        };
        if let Err(code) = check_length(route, kernel, head, frame, vnet) {
            return Put::Done(Err(code));
        }
        let mut inner = match self.lock(link) {
            Ok(inner) => inner,
            // In a fork, which could not open it again: its frames take the ordinary way from now on.
            Err(_) if link.send_only => {
                if let Some(Ok(route)) = self.state.route(self.fd, index) {
                    route.way = Way::Kernel;
                }
                return Put::Kernel;
            }
            Err(code) => return Put::Done(Err(code)),
        };
        let from = self.state.inlet.as_ref().map(|i| i.id);
        let put = inner.late().and_then(|()| {
            if vnet { put_offload(&mut inner, head, frame, from) } else { inner.put(head, frame, 0, from) }
        });
        self.held = Some((link, inner));
        Put::Done(put.map(|()| frame.len()))
    }

    /// Locks a link; the one of the frame before is locked already.
    #[inline]
    fn lock(&mut self, link: &'static Link) -> Result<MutexGuard<'static, LinkState>, c_int> {
        match self.held.take() {
            Some((held, inner)) if std::ptr::eq(held, link) => Ok(inner),
            mut other => {
                leave(&mut other, &mut self.failed);
                link.ready()
            }
        }
    }

    /// Ends the call.
    pub(crate) fn finish(mut self) -> Result<(), c_int> {
        leave(&mut self.held, &mut self.failed);
        self.failed.map_or(Ok(()), Err)
    }

    /// Sends what waits in the program's mapped ring.
    fn put_ring(&mut self, to: Option<To>) -> Put {
        let index = to.map_or(self.state.bound, |t| t.index);
        let link = match self.state.route(self.fd, index) {
            None => return Put::Kernel,
            Some(Err(code)) => return Put::Done(Err(code)),
            Some(Ok(route)) => match route.link(usize::MAX) {
                Some(link) => link.0,
                None => return Put::Kernel,
            },
        };
        let (options, dgram) = (self.state.options, self.state.dgram);
        // Headers that the kernel would make, and offloads, are left to it; a mapped interface has none to leave it to.
        if dgram || options.vnet {
            return if link.send_only { Put::Kernel } else { Put::Done(Err(libc::EOPNOTSUPP)) };
        }
        if self.state.rings.sender.is_none() {
            let rx = self.state.rings.rx.map_or(0, |g| g.bytes());
            let ring = self.state.rings.tx.zip(self.state.mapping());
            self.state.rings.sender = ring.and_then(|(g, m)| TxMap::new(g, rx, m, &options));
        }
        let from = self.state.inlet.as_ref().map(|i| i.id);
        let mtu = self.state.route(self.fd, index).and_then(Result::ok).map_or(0, |r| r.mtu);
        let Some(ring) = self.state.rings.sender.as_mut() else { return Put::Kernel };
        let ready = link.ready();
        report::served(Call::TxRing);
        Put::Done(ready.and_then(|mut inner| {
            let sent = drain(ring, &mut inner, mtu, from);
            leave(&mut Some((link, inner)), &mut self.failed);
            sent
        }))
    }
}

/// The link header that the kernel puts before the bytes of a `SOCK_DGRAM` socket.
#[inline]
fn write_header(header: &mut [u8; HEADER], to: &To, address: [u8; 6], protocol: u16) {
    header[..6].copy_from_slice(&to.address);
    header[6..12].copy_from_slice(&address);
    header[12..].copy_from_slice(&protocol.to_be_bytes());
}

/// Whether the interface takes a frame of this length, `head` before `frame`. `vnet`: a `virtio_net_hdr` comes first.
#[inline]
fn check_length(
    route: &mut Route,
    kernel: KernelSocket,
    head: &[u8],
    frame: Gather<'_>,
    vnet: bool,
) -> Result<(), c_int> {
    let skip = if vnet { VNET } else { 0 };
    let len = (frame.len() + head.len()).checked_sub(skip).ok_or(libc::EINVAL)?;
    if len < HEADER {
        return Err(libc::EINVAL);
    }
    let large = vnet && is_large(frame);
    if !large && route.too_long(kernel, len, len > route.mtu && tagged(frame, skip)) {
        return Err(libc::EMSGSIZE);
    }
    Ok(())
}

/// Lets a link go: its frames leave, or wait for others.
fn leave(held: &mut Option<Held>, failed: &mut Option<c_int>) {
    if let Some((link, mut inner)) = held.take() {
        *failed = failed.or(link.commit(&mut inner).err());
    }
}

/// Frames of a ring, up to the first that has not been put there.
fn drain(ring: &mut TxMap, inner: &mut LinkState, mtu: usize, from: Option<u64>) -> Result<usize, c_int> {
    inner.late()?;
    let (mut sent, mut wrong) = (0, None);
    // Each frame is passed once, so the program can't keep us here by giving the same ones again.
    for _ in 0..ring.frames() {
        let len = match ring.next() {
            None => break,
            Some(Ok(len)) if (HEADER..=mtu + HEADER + 4).contains(&len) => len,
            Some(Ok(len)) => {
                ring.wrong();
                wrong = Some(if len < HEADER { libc::EINVAL } else { libc::EMSGSIZE });
                continue;
            }
            Some(Err(())) => {
                wrong = Some(libc::EINVAL);
                continue;
            }
        };
        inner.put(&ring.scratch, Gather::EMPTY, 0, from)?;
        ring.done();
        sent += len;
    }
    if sent == 0 { wrong.map_or(Ok(0), Err) } else { Ok(sent) }
}

/// Whether the frame has a tag, which is not part of what the MTU bounds.
fn tagged(frame: Gather<'_>, skip: usize) -> bool {
    let mut kind = [0; 2];
    frame.copy_from(skip + 12, &mut kind);
    matches!(u16::from_be_bytes(kind), 0x8100 | 0x88a8)
}

/// Whether the `virtio_net_hdr` before a frame says that it is to be cut, or makes no sense.
fn is_large(frame: Gather<'_>) -> bool {
    let mut header = [0; VNET];
    frame.copy_from(0, &mut header);
    Offload::parse(&header, usize::MAX).map_or(true, |left| left.gso.is_some())
}

/// A frame with a `virtio_net_hdr` before it: what that leaves to be done is done.
fn put_offload(
    inner: &mut LinkState,
    head: &[u8],
    frame: Gather<'_>,
    from: Option<u64>,
) -> Result<(), c_int> {
    let mut header = [0; VNET];
    frame.copy_from(0, &mut header);
    let len = head.len() + frame.len() - VNET;
    let left = Offload::parse(&header, len).map_err(|_| libc::EINVAL)?;
    if left.is_none() {
        return inner.put(head, frame, VNET, from);
    }
    let mut whole = vec![0; len];
    whole[..head.len()].copy_from_slice(head);
    frame.copy_from(VNET, &mut whole[head.len()..]);
    let Some(gso) = left.gso else {
        if let Some(sum) = left.checksum {
            // The place lies inside the frame, as `parse` has checked.
            let _ = finish_checksum(&mut whole, sum.start.into(), sum.offset.into());
        }
        return inner.put(&whole, Gather::EMPTY, 0, from);
    };
    let segments = Segments::new(&whole, &left).map_err(|_| libc::EINVAL)?;
    let mut one = vec![0; usize::from(gso.size) + 512];
    for i in 0..segments.count() {
        let len = segments.write(i, &mut one).ok_or(libc::EMSGSIZE)?;
        inner.put(&one[..len], Gather::EMPTY, 0, from)?;
    }
    Ok(())
}
