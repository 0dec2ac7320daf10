//! What frames hold, once they passed all checks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Ports;
use super::hosts::HostId;
use super::neighbours::Neighbour;
use crate::code::Transport;
use crate::transport::segment::Segment;

/// What a frame holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Received<'a> {
    /// Something for the flows.
    Arrival(Arrival<'a>),
    /// Something between neighbours, for [`control`](super::Net::control).
    Control(Control<'a>),
}

/// A packet from a host of the far side to one of this side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// The host of the far side.
    pub(crate) source: HostId,
    /// The host of this side.
    pub(crate) target: HostId,
    /// The hardware address from which the frame came.
    pub(crate) from: [u8; 6],
    /// Its message.
    pub(crate) body: Body<'a>,
}

/// The message of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body<'a> {
    /// A segment.
    Tcp(Ports, Segment<'a>),
    /// A datagram.
    Udp(Ports, &'a [u8]),
    /// A packet of this side was lost. It went from the arrival's target to its source. Any host may have sent the message.
    Unreachable(Lost, Cause),
    /// An answer to an echo request.
    EchoReply,
}

/// A message between neighbours. The sender needs no emulated address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control<'a> {
    /// A message of ARP.
    Arp(Arp),
    /// A question of neighbour discovery.
    Solicitation(Solicitation),
    /// An answer of neighbour discovery.
    Advertisement(Advertisement),
    /// An echo request.
    Echo(Echo<'a>),
}

/// The packet of this side that a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Its protocol.
    pub(crate) transport: Transport,
    /// The port of the far host, to which it went.
    pub(crate) far_port: u16,
    /// The port of the host of this side, from which it came.
    pub(crate) near_port: u16,
    /// Its sequence number, which must lie in what is not acknowledged (RFC 5927, section 4.1). Only of TCP.
    pub(crate) seq: u32,
}

/// Why it was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No program has the port.
    Port,
    /// The host does not speak the protocol.
    Protocol,
    /// The host, or the way to it, is not there.
    Host,
    /// A filter forbids it.
    Prohibited,
    /// It is longer than a link on the way takes.
    TooBig {
        /// Most bytes that an IP packet may have there; not below what each link takes.
        mtu: u32,
    },
    /// It took too many hops, or its fragments too long.
    Expired,
    /// A header has a value that a router or the host does not take.
    Parameter,
}

/// An echo request for a host of this side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo<'a> {
    pub(super) from: [u8; 6],
    pub(super) source: IpAddr,
    pub(super) target: HostId,
    pub(super) bytes: &'a [u8],
}

/// A request or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arp {
    pub(super) sender: Ipv4Addr,
    pub(super) sender_mac: [u8; 6],
    /// The host of this side that is asked for.
    pub(super) asked: Option<HostId>,
    /// The hardware address of the sender, if it is a neighbour.
    pub(crate) teaches: Option<Lesson>,
}

/// A question for a host of this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Solicitation {
    /// Unspecified when the sender looks for duplicates of its address.
    pub(super) source: Ipv6Addr,
    pub(super) from: [u8; 6],
    pub(super) asked: HostId,
    /// The hardware address of the sender, if it is a neighbour and gave one.
    pub(crate) teaches: Option<Lesson>,
}

/// An answer or announcement of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// The neighbour's hardware address.
    pub(crate) teaches: Lesson,
}

/// The hardware address of a neighbour, from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lesson {
    /// Whose it is.
    pub(crate) who: Neighbour,
    /// The address.
    pub(crate) mac: [u8; 6],
    /// Whether it replaces another one that is known.
    pub(crate) replaces: bool,
}
