//! `ping`: round trips of ICMP.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, connect, recv, send, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeVal;
use ringway_wire::checksum;

use crate::suite::Fault;

/// Bytes of a request without the IP header, as of the program ping.
const LEN: usize = 64;

/// Asks one host.
#[derive(Debug)]
pub(super) struct Pinger {
    socket: OwnedFd,
    id: u16,
    sequence: u16,
}

impl Pinger {
    /// Asks from the present network namespace, and waits `limit` for each answer.
    pub(super) fn open(to: Ipv4Addr, limit: Duration) -> Result<Self, Fault> {
        let open = || {
            let socket =
                socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
            connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(to, 0)))?;
            setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(0, limit.as_micros() as _))?;
            Ok(socket)
        };
        let socket = open().map_err(failed)?;
        Ok(Self { socket, id: process::id() as u16, sequence: 0 })
    }

    /// The time until the answer; `None` when there was none.
    pub(super) fn ask(&mut self) -> Result<Option<Duration>, Fault> {
        self.sequence = self.sequence.wrapping_add(1);
        let (fd, mut answer) = (self.socket.as_raw_fd(), [0; 256]);
        let start = Instant::now();
        match send(fd, &request(self.id, self.sequence), MsgFlags::empty()) {
            // Nobody answers for the address yet.
            Err(Errno::EHOSTUNREACH | Errno::ENETUNREACH) => return Ok(None),
            sent => sent.map_err(failed)?,
        };
        loop {
            match recv(fd, &mut answer, MsgFlags::empty()) {
                Ok(len) if is_answer(&answer[..len], self.id, self.sequence) => {
                    return Ok(Some(start.elapsed()));
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => return Ok(None),
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

/// An echo request with its checksum.
fn request(id: u16, sequence: u16) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[0] = 8;
    bytes[4..6].copy_from_slice(&id.to_be_bytes());
    bytes[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum::of(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// Whether an IPv4 packet is the answer to a request.
fn is_answer(packet: &[u8], id: u16, sequence: u16) -> bool {
    let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    let Some(icmp) = packet.get(header..).filter(|icmp| icmp.len() >= 8) else { return false };
    icmp[0] == 0 && icmp[4..6] == id.to_be_bytes() && icmp[6..8] == sequence.to_be_bytes()
}

fn failed(e: Errno) -> Fault {
    Fault::Failed(format!("ICMP: {}", io::Error::from(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_to_the_request() {
        let mut packet = vec![0x45];
        packet.resize(20, 0);
        packet.extend(request(7, 9));
        assert_eq!(checksum::of(&packet[20..]), 0);
        assert!(!is_answer(&packet, 7, 9), "a request");
        packet[20] = 0;
        assert!(is_answer(&packet, 7, 9));
        assert!(!is_answer(&packet, 7, 8) && !is_answer(&packet, 6, 9));
        assert!(!is_answer(&packet[..27], 7, 9) && !is_answer(&[], 7, 9));
    }
}
