//! One record: a segment or a datagram between two hosts, or the reason why it is none.

use std::net::IpAddr;

use ringway_wire::{EtherType, Net, Transport, parse};

/// A segment or a datagram.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// Addresses and ports.
    pub(super) from: (IpAddr, u16),
    pub(super) to: (IpAddr, u16),
    pub(super) body: Body<'a>,
}

/// What it carries.
#[derive(Debug)]
pub(super) enum Body<'a> {
    Tcp(Segment<'a>),
    Udp(&'a [u8]),
}

/// A segment of TCP.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    pub(super) seq: u32,
    pub(super) syn: bool,
    pub(super) ack: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) data: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The segment or datagram of a record. Checksums are not looked at: a host's own frames are recorded before they have some.
    pub(super) fn of(record: &'a [u8]) -> Result<Self, &'static str> {
        let packet = parse(record);
        if packet.malformed.is_some() {
            return Err("its headers are wrong, or it was cut when it was recorded");
        }
        let (from, to): (IpAddr, IpAddr) = match packet.net {
            Some(Net::Ipv4(ip)) => (ip.src().into(), ip.dst().into()),
            Some(Net::Ipv6(ip)) => (ip.src().into(), ip.dst().into()),
            _ if packet.ethertype == Some(EtherType::ARP) => {
                return Err("ARP: emulated hosts make their own");
            }
            _ => return Err("it is no IP"),
        };
        if packet.is_fragment {
            return Err("it is a fragment");
        }
        let body = match packet.transport {
            Some(Transport::Tcp(tcp)) => {
                use ringway_wire::TcpFlags as Flag;
                let has = |flag| tcp.flags().contains(flag);
                if tcp.src_port() == 0 || tcp.dst_port() == 0 {
                    return Err("it has port 0");
                }
                Body::Tcp(Segment {
                    seq: tcp.seq(),
                    syn: has(Flag::SYN),
                    ack: has(Flag::ACK),
                    fin: has(Flag::FIN),
                    rst: has(Flag::RST),
                    data: tcp.into_payload(),
                })
            }
            Some(Transport::Udp(udp)) if udp.src_port() == 0 || udp.dst_port() == 0 => {
                return Err("it has port 0");
            }
            Some(Transport::Udp(udp)) => Body::Udp(udp.into_payload()),
            Some(Transport::Icmpv4(_) | Transport::Icmpv6(_)) => {
                return Err("ICMP: emulated hosts make their own");
            }
            _ => return Err("it is neither TCP nor UDP"),
        };
        if !is_host(from) || !is_host(to) {
            return Err("it goes to or from more than one host: broadcast or multicast");
        }
        let ports = match packet.transport {
            Some(Transport::Tcp(tcp)) => (tcp.src_port(), tcp.dst_port()),
            Some(Transport::Udp(udp)) => (udp.src_port(), udp.dst_port()),
            _ => (0, 0),
        };
        if (from, ports.0) == (to, ports.1) {
            return Err("its source is its target");
        }
        Ok(Self { from: (from, ports.0), to: (to, ports.1), body })
    }
}

/// Whether an address is one of a single host.
fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !(address.is_multicast()
                || address.is_broadcast()
                || address.is_unspecified()
                || address.octets()[0] == 0)
        }
        IpAddr::V6(address) => !(address.is_multicast() || address.is_unspecified()),
    }
}
