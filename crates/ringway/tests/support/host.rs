//! A host and its peer, each a namespace with one end of a link, and echo requests between them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use ringway_lab::{AnyError, Lab};

use super::new_lab;

/// A host with eth0 at 10.0.0.1, and a peer with p0 at 10.0.0.2.
pub(crate) fn host_and_peer() -> Option<(Lab, Lab)> {
    let (host, peer) = (new_lab()?, new_lab()?);
    let queues = "numtxqueues 1 numrxqueues 1";
    host.ip(&format!("link add eth0 {queues} type veth peer name p0 {queues} netns {}", peer.name()))
        .unwrap();
    for (lab, interface, address) in [(&host, "eth0", "10.0.0.1/24"), (&peer, "p0", "10.0.0.2/24")] {
        lab.ip(&format!("addr add {address} dev {interface}")).unwrap();
        lab.ip(&format!("link set {interface} up")).unwrap();
    }
    peer.run_napi("p0").unwrap();
    Some((host, peer))
}

fn check(n: isize) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Sends `count` echo requests from the peer to 10.0.0.1, one after the other; how many were answered in time.
pub(crate) fn ping(peer: &Lab, count: u16, timeout_ms: i32) -> u16 {
    let once = |fd: &OwnedFd, seq: u16| -> io::Result<bool> {
        let mut message = vec![8, 0, 0, 0, 0x12, 0x34];
        message.extend_from_slice(&seq.to_be_bytes());
        message.extend((0..seq % 1400).map(|k| k as u8));
        message.resize(message.len().next_multiple_of(2), 0);
        let sum: u32 = message.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        message[2..4].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        // SAFETY: plain data, for which zero is a value.
        let mut to: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        to.sin_family = libc::AF_INET as u16;
        to.sin_addr.s_addr = u32::from_ne_bytes([10, 0, 0, 1]);
        // SAFETY: message and address outlive the call and have the lengths given.
        check(unsafe {
            libc::sendto(
                fd.as_raw_fd(),
                message.as_ptr().cast(),
                message.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        })?;
        let end = Instant::now() + Duration::from_millis(timeout_ms as u64);
        let mut answer = [0u8; 2048];
        while Instant::now() < end {
            let mut p = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd that outlives the call.
            if unsafe { libc::poll(&raw mut p, 1, timeout_ms) } <= 0 {
                continue;
            }
            // SAFETY: the buffer outlives the call and has the length given.
            let n =
                check(unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) })?;
            // Behind the IP header: an echo reply with our number and our bytes.
            if n == 20 + message.len() && answer[20] == 0 && answer[26..n] == message[6..] {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let answered = peer.run(|| {
        // SAFETY: no pointers; the descriptor is new.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_ICMP);
            assert!(fd >= 0, "{}", io::Error::last_os_error());
            OwnedFd::from_raw_fd(fd)
        };
        Ok::<_, AnyError>((0..count).filter(|&k| once(&fd, k * 7).unwrap_or(false)).count() as u16)
    });
    answered.unwrap()
}
