//! Promiscuous mode for as long as a descriptor is open (packet(7), `PACKET_ADD_MEMBERSHIP`).
//!
//! The kernel counts who asked, and takes a request back when the socket is closed, also by the death of its process.

use std::io;
use std::os::fd::OwnedFd;

use super::fd::set_option;
use super::socket_probe;

/// A socket that receives nothing and keeps an interface promiscuous.
#[derive(Debug)]
pub struct Promiscuous {
    socket: OwnedFd,
}

impl Promiscuous {
    /// For the interface `ifindex` of the calling thread's network namespace. Needs `CAP_NET_RAW`.
    pub fn hold(ifindex: u32) -> io::Result<Self> {
        let socket = socket_probe::packet()?;
        join(&socket, ifindex)?;
        Ok(Self { socket })
    }

    /// A descriptor that keeps the interface promiscuous as well.
    pub fn share(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }
}

/// Asks for frames to every address for as long as `socket`, a packet socket, is open.
pub(super) fn join(socket: &OwnedFd, ifindex: u32) -> io::Result<()> {
    for kind in [libc::PACKET_MR_PROMISC, libc::PACKET_MR_ALLMULTI] {
        let member = libc::packet_mreq {
            mr_ifindex: ifindex as i32,
            mr_type: kind as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)?;
    }
    Ok(())
}
