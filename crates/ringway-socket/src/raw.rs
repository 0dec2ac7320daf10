//! Raw sockets of IPv4: what they send to a mapped interface leaves by its port.
//!
//! The kernel would send it by the interface itself, and never get to: the answers to its ARP requests come in at the port. So the route
//! is the kernel's, and the address of the next hop is asked for through the port. What raw sockets receive stays the kernel's
//! business: programs that scan read their answers by libpcap or packet sockets.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::*};
use std::time::{Duration, Instant};

use ringway::probe::{NextHop, next_hop};
use ringway_shim::FDS;
use ringway_wire::checksum;

use crate::link::Link;
use crate::mapped::MappedInterface;
use crate::neighbour;
use crate::report;
use crate::sys::kernel;
use crate::sys::memory::Gather;

/// For how long a route is taken to be what it was.
const FRESH: Duration = Duration::from_secs(1);

/// Set in an entry of [`RAW`] when the program writes IP headers itself.
const WHOLE: u16 = 1 << 9;

/// Bytes of an IPv4 header without options.
const IP: usize = 20;

/// Of each descriptor: 0, or one more than the protocol of a raw socket.
static RAW: [AtomicU16; FDS] = [const { AtomicU16::new(0) }; FDS];

/// Whether any was ever made: calls look at this first.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Of each thread, so that nobody waits for a lock after a fork.
    static WAYS: RefCell<HashMap<Ipv4Addr, Way>> = RefCell::default();
}

/// How packets to an address leave.
#[derive(Clone, Copy)]
struct Way {
    found: Instant,
    hop: NextHop,
    /// `None` for the kernel.
    out: Option<MappedInterface>,
}

fn slot(fd: c_int) -> Option<&'static AtomicU16> {
    RAW.get(usize::try_from(fd).ok()?)
}

/// Whether the descriptor is a raw socket.
#[inline]
pub(crate) fn is(fd: c_int) -> bool {
    ANY.load(Relaxed) && slot(fd).is_some_and(|s| s.load(Acquire) != 0)
}

/// The program made a raw socket.
pub(crate) fn add(fd: c_int, protocol: c_int) {
    let protocol = protocol as u16 & 0xff;
    let whole = if c_int::from(protocol) == libc::IPPROTO_RAW { WHOLE } else { 0 };
    if let Some(slot) = slot(fd) {
        slot.store((protocol + 1) | whole, Release);
        ANY.store(true, Relaxed);
    }
}

pub(crate) fn remove(fd: c_int) {
    slot(fd).into_iter().for_each(|s| s.store(0, Release));
}

pub(crate) fn alias(from: c_int, to: c_int) {
    if let (Some(from), Some(to)) = (slot(from), slot(to)) {
        to.store(from.load(Acquire), Release);
    }
}

/// `IP_HDRINCL`.
pub(crate) fn set_whole(fd: c_int, on: bool) {
    let Some(slot) = slot(fd).filter(|s| s.load(Acquire) != 0) else { return };
    if on {
        slot.fetch_or(WHOLE, AcqRel);
    } else {
        slot.fetch_and(!WHOLE, AcqRel);
    }
}

/// Sends a packet by the port of a mapped interface; `None` when it is for the kernel to send.
pub(crate) fn send(fd: c_int, bytes: Gather<'_>, to: Ipv4Addr) -> Option<Result<usize, c_int>> {
    let kind = slot(fd)?.load(Acquire);
    let (hop, out) = way(fd, to)?;
    if kind & !WHOLE != libc::IPPROTO_RAW as u16 + 1 {
        warn_of_silence(out.link);
    }
    let mut packet = vec![0; bytes.len()];
    bytes.copy_from(0, &mut packet);
    let packet = match kind & WHOLE {
        0 => with_header(fd, (kind - 1) as u8, hop.source, to, &packet),
        _ => completed(packet, hop.source),
    };
    let Some(packet) = packet else { return Some(Err(libc::EINVAL)) };
    if packet.len() > out.mtu {
        return Some(Err(libc::EMSGSIZE));
    }
    // As in the kernel, a packet to an address that nobody answers for is lost.
    let Some(mac) = neighbour::resolve(out, hop.source, hop.gateway.unwrap_or(to)) else {
        report::unanswered();
        return Some(Ok(bytes.len()));
    };
    let frame = [&mac[..], &out.address, &[8, 0], &packet].concat();
    Some(out.send(&frame).map(|()| bytes.len()))
}

/// Says once that a raw socket that could receive does not see the answers, unless the host gets the port's frames too.
fn warn_of_silence(link: &Link) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if link.is_shared_with_host() || SAID.swap(true, Relaxed) {
        return;
    }
    let name = &link.name;
    report::say(&format!(
        "raw sockets send by {name} but receive only what the host's own stack does, and the frames of {name} do not go there; \
         map the interface to packet:IF to receive too"
    ));
}

fn way(fd: c_int, to: Ipv4Addr) -> Option<(NextHop, MappedInterface)> {
    let known = WAYS.try_with(|w| w.borrow().get(&to).copied()).ok()?;
    if let Some(way) = known.filter(|w| w.found.elapsed() < FRESH) {
        return Some((way.hop, way.out?));
    }
    let hop = next_hop(to, kernel::bound_device(fd)).ok()??;
    let out = MappedInterface::find(fd, hop.interface);
    let _ = WAYS.try_with(|ways| {
        let mut ways = ways.borrow_mut();
        // A scan of many addresses need not be remembered.
        if ways.len() > 4096 {
            ways.clear();
        }
        ways.insert(to, Way { found: Instant::now(), hop, out });
    });
    Some((hop, out?))
}

/// The program's packet behind a header as the kernel makes it.
fn with_header(fd: c_int, protocol: u8, from: Ipv4Addr, to: Ipv4Addr, body: &[u8]) -> Option<Vec<u8>> {
    static NUMBER: AtomicU16 = AtomicU16::new(1);
    const DONT_FRAGMENT: u16 = 0x4000;
    let len = u16::try_from(IP + body.len()).ok()?;
    let mut packet = Vec::with_capacity(len.into());
    packet.extend_from_slice(&[0x45, kernel::ip_option(fd, libc::IP_TOS).unwrap_or(0)]);
    for word in [len, NUMBER.fetch_add(1, Relaxed), DONT_FRAGMENT] {
        packet.extend_from_slice(&word.to_be_bytes());
    }
    packet.extend_from_slice(&[kernel::ip_option(fd, libc::IP_TTL).unwrap_or(64), protocol, 0, 0]);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    packet.extend_from_slice(body);
    finish(&mut packet, IP);
    Some(packet)
}

/// The program's own header, with what the kernel sees to (raw(7)): length, checksum, and a number and a source where they are zero.
fn completed(mut packet: Vec<u8>, from: Ipv4Addr) -> Option<Vec<u8>> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let len = u16::try_from(packet.len()).ok()?;
    if header < IP || packet.len() < header {
        return None;
    }
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    if packet[4..6] == [0, 0] {
        static NUMBER: AtomicU16 = AtomicU16::new(1);
        packet[4..6].copy_from_slice(&NUMBER.fetch_add(1, Relaxed).to_be_bytes());
    }
    if packet[12..16] == [0; 4] {
        packet[12..16].copy_from_slice(&from.octets());
    }
    finish(&mut packet, header);
    Some(packet)
}

fn finish(packet: &mut [u8], header: usize) {
    packet[10..12].fill(0);
    let sum = checksum::of(&packet[..header]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_made_or_completed_as_the_kernel_does() {
        let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let made = with_header(-1, 1, from, to, &[8; 12]).expect("a packet");
        assert_eq!(
            (made.len(), &made[..4], &made[6..10]),
            (32, &[0x45, 0, 0, 32][..], &[0x40, 0, 64, 1][..])
        );
        assert_eq!(checksum::of(&made[..20]), 0, "the sum of a header with its checksum");
        let mut own = vec![0; 28];
        own[0] = 0x46;
        assert_eq!(completed(own[..23].to_vec(), from), None, "shorter than it says");
        let done = completed(own.clone(), from).expect("a packet");
        assert_eq!((&done[2..4], &done[12..16]), (&[0, 28][..], &[10, 0, 0, 1][..]));
        assert!(done[4..6] != [0, 0] && checksum::of(&done[..24]) == 0);
        own[4..6].copy_from_slice(&[9, 9]);
        own[12..16].copy_from_slice(&[1, 2, 3, 4]);
        let kept = completed(own, from).expect("a packet");
        assert_eq!((&kept[4..6], &kept[12..16]), (&[9, 9][..], &[1, 2, 3, 4][..]));
        assert_eq!(completed(vec![0x45; 1], from), None);
    }
}
