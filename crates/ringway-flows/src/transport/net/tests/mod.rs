//! Two ports that face each other, and what the tests need of them.

mod control;
mod discovery;
mod frames;
mod hostile;
mod hosts;
mod lost;
mod model;
mod raws;
mod wireshark;

use std::net::IpAddr;
use std::sync::Arc;

use ringway_wire::checksum::Sum;

use super::hosts::{HostId, Hosts};
use super::received::{Arrival, Control, Received};
use super::refused::Refused;
use super::{Gateway, Net, Ports, Sides, Way};
use crate::code::{Choice, Macs, Pool, Range, Vlans};
use crate::transport::segment::{Outgoing, flag};

const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PORTS: Ports = Ports { source: 40_000, target: 80 };

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn pool(first: &str, last: &str) -> Pool {
    Pool {
        name: 0,
        ranges: vec![Range { first: ip(first), last: ip(last) }],
        first_port: 1024,
        last_port: 65_535,
        choice: Choice::Sequential,
        port_choice: Choice::Sequential,
        macs: None,
        vlans: None,
    }
}

/// Clients of both families in pools 0 and 2, servers in 1 and 3.
fn pools() -> Vec<Pool> {
    vec![
        pool("198.18.0.0", "198.18.3.255"),
        pool("198.19.0.0", "198.19.3.255"),
        pool("2001:2:0:1::", "2001:2:0:1::3ff"),
        pool("2001:2:0:2::", "2001:2:0:2::3ff"),
    ]
}

/// The ports of clients and servers.
struct Pair {
    hosts: Arc<Hosts>,
    client: Net,
    server: Net,
}

impl Pair {
    fn new(pools: &[Pool], gateway: Gateway) -> Self {
        let hosts = Arc::new(Hosts::new(pools).unwrap());
        let (clients, servers) = (&[0, 2][..], &[1, 3][..]);
        let client = Net::new(hosts.clone(), Sides { near: clients, far: servers }, CLIENT_MAC, gateway);
        let server =
            Net::new(hosts.clone(), Sides { near: servers, far: clients }, SERVER_MAC, Gateway::default());
        Self { hosts, client, server }
    }

    fn plain() -> Self {
        Self::new(&pools(), Gateway::default())
    }

    /// All hosts in VLAN 100, and servers with five hardware addresses.
    fn tagged() -> Self {
        let mut pools = pools();
        pools.iter_mut().for_each(|pool| pool.vlans = Some(Vlans { first: 100, last: 100 }));
        for at in [1, 3] {
            pools[at].macs = Some(Macs { first: [2, 0, 0, 0, 1, 0xfe], count: 5 });
        }
        Self::new(&pools, Gateway::default())
    }

    fn both() -> [Self; 2] {
        [Self::plain(), Self::tagged()]
    }

    fn host(&self, address: &str) -> HostId {
        self.hosts.find(ip(address)).unwrap()
    }

    /// From a client to a server of a family.
    fn way(&self, is_v4: bool) -> Way {
        let (from, to) =
            if is_v4 { ("198.18.1.2", "198.19.0.7") } else { ("2001:2:0:1::5", "2001:2:0:2::17") };
        let (from, to) = (self.host(from), self.host(to));
        Way { from, to, mac: self.hosts.host(to).mac(SERVER_MAC) }
    }

    fn tcp(&self, is_v4: bool, segment: &Outgoing, data: &[u8]) -> Vec<u8> {
        let mut buf = vec![0xee; 2048];
        let len = self.client.tcp(&mut buf, self.way(is_v4), PORTS, segment, |out| put(out, data));
        buf.truncate(len);
        buf
    }

    fn udp(&self, is_v4: bool, data: &[u8]) -> Vec<u8> {
        let mut buf = vec![0xee; 2048];
        let len = self.client.udp(&mut buf, self.way(is_v4), PORTS, data.len(), |out| put(out, data));
        buf.truncate(len);
        buf
    }
}

/// Writes a payload, and gives its sum.
fn put(out: &mut [u8], data: &[u8]) -> Sum {
    out.copy_from_slice(data);
    Sum::new().add_bytes(data)
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn segment(len: usize) -> Outgoing {
    let flags = flag::ACK | flag::PSH;
    Outgoing { seq: 0x8000_0001, ack: 0x1234_5678, window: 512, flags, len: len as u16, syn: None }
}

fn arrival(received: Result<Received<'_>, Refused>) -> Arrival<'_> {
    match received {
        Ok(Received::Arrival(arrival)) => arrival,
        other => panic!("{other:?}"),
    }
}

fn control(received: Result<Received<'_>, Refused>) -> Control<'_> {
    match received {
        Ok(Received::Control(control)) => control,
        other => panic!("{other:?}"),
    }
}

/// Where the IP header begins.
fn ip_at(frame: &[u8]) -> usize {
    if frame[12..14] == [0x81, 0] { 18 } else { 14 }
}

/// The checksum as RFC 1071 has it, word by word.
fn naive(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Whether all checksums of a frame with TCP, UDP or ICMP right behind its IP header, or behind options, are right.
fn is_right(frame: &[u8]) -> bool {
    let ip = &frame[ip_at(frame)..];
    if ip[0] >> 4 == 4 {
        let len = usize::from(ip[0] & 15) * 4;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let message = &ip[len..total];
        naive(&[&ip[..len]]) == 0 && message_is_right(&ip[12..20], ip[9], message)
    } else {
        let total = 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        message_is_right(&ip[8..40], ip[6], &ip[40..total])
    }
}

fn message_is_right(addresses: &[u8], protocol: u8, message: &[u8]) -> bool {
    let message = match protocol {
        17 if addresses.len() == 8 && message[6..8] == [0, 0] => return true,
        17 if message[6..8] == [0, 0] => return false,
        17 => &message[..usize::from(u16::from_be_bytes([message[4], message[5]]))],
        1 => return naive(&[message]) == 0,
        _ => message,
    };
    naive(&[addresses, &[0, protocol], &(message.len() as u16).to_be_bytes(), message]) == 0
}
