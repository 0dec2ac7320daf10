//! The slow and obvious router that every decision is compared with. It shares the tables' entries, [`flow_hash`] and the names with the
//! engine, nothing else. Addresses are types of the standard library, checksums are computed in full, and routes are matched length by length.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Decision, DropReason, Forward, HostReason, Interface, Rpf};
use crate::control::{Adjacency, Buckets, Limits, Plane, Verdict, flow_hash};
use ringway_fib::{FibError, NextHop, Prefix4, Prefix6};

/// A router of plain maps, which a [`Resolver`](crate::control::Resolver) fills as it does any other [`Plane`].
///
/// ```
/// use ringway_fwd::router::{Decision, Interface, HostReason, reference::Reference};
/// let mut router = Reference::new(vec![Interface { index: 3, forwards6: true, ..Interface::default() }]);
/// let frame = [0; 60]; // for the link address 0, of EtherType 0
/// assert_eq!(router.decide(0, &frame), (Decision::Host(HostReason::NotIp), None));
/// router.ready = false;
/// assert_eq!(router.decide(0, &frame).0, Decision::Host(HostReason::NotReady));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// The interfaces, by position.
    pub interfaces: Vec<Interface>,
    /// Whether the tables are to be trusted.
    pub ready: bool,
    routes4: ringway_fib::Reference<u32>,
    routes6: ringway_fib::Reference<u128>,
    entries: BTreeMap<u16, Adjacency>,
    groups: BTreeMap<u32, Buckets>,
}

impl Plane for Reference {
    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.entries.insert(next_hop.get(), *entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.groups.insert(group, *buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(next_hop) => self.routes4.insert(*prefix, *next_hop),
                None => self.routes4.withdraw(*prefix),
            };
        }
        Ok(())
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        for (prefix, next_hop) in changes {
            match next_hop {
                Some(next_hop) => self.routes6.insert(*prefix, *next_hop),
                None => self.routes6.withdraw(*prefix),
            };
        }
        Ok(())
    }
}

/// Another plane and the reference, which get the same changes: for tests that compare the two.
#[derive(Debug)]
pub struct Both<P> {
    /// The other one. Its limits hold for both, and what it refuses the reference does not get.
    pub plane: P,
    /// The reference.
    pub reference: Reference,
}

impl<P: Plane> Plane for Both<P> {
    fn limits(&self) -> Limits {
        self.plane.limits()
    }

    fn reset_counters_for(&mut self, next_hop: NextHop) {
        self.plane.reset_counters_for(next_hop);
    }

    fn adjacency(&mut self, next_hop: NextHop, entry: &Adjacency) {
        self.plane.adjacency(next_hop, entry);
        self.reference.adjacency(next_hop, entry);
    }

    fn buckets(&mut self, group: u32, buckets: &Buckets) {
        self.plane.buckets(group, buckets);
        self.reference.buckets(group, buckets);
    }

    fn routes4(&mut self, changes: &[(Prefix4, Option<NextHop>)]) -> Result<(), FibError> {
        self.plane.routes4(changes)?;
        self.reference.routes4(changes)
    }

    fn routes6(&mut self, changes: &[(Prefix6, Option<NextHop>)]) -> Result<(), FibError> {
        self.plane.routes6(changes)?;
        self.reference.routes6(changes)
    }
}

/// What the rules look at in a packet.
struct Seen {
    source: IpAddr,
    destination: IpAddr,
    length: usize,
    ttl: u8,
    protocol: u8,
    source_port: u16,
    destination_port: u16,
}

type Stop = Decision;

impl Reference {
    /// Without routes, ready.
    pub fn new(interfaces: Vec<Interface>) -> Self {
        Self { interfaces, ready: true, ..Self::default() }
    }

    /// What becomes of a frame that came in by the interface at a position, and the frame as it leaves.
    ///
    /// # Panics
    /// When there is no such interface.
    pub fn decide(&self, position: usize, frame: &[u8]) -> (Decision, Option<Vec<u8>>) {
        match self.route(&self.interfaces[position], frame) {
            Err(stop) => (stop, None),
            Ok((seen, next_hop, entry, egress)) => {
                let out = leaving(frame, &seen, &entry);
                (Decision::Forward(Forward { next_hop, egress, len: out.len() as u32 }), Some(out))
            }
        }
    }

    /// The rules of the table in `docs/router.md`, one after the other.
    fn route(&self, ingress: &Interface, frame: &[u8]) -> Result<(Seen, NextHop, Adjacency, u16), Stop> {
        if !self.ready {
            return host(HostReason::NotReady); // 1
        }
        let seen = look_at(ingress, frame)?; // 2 to 11
        let found = self.find(seen.destination).map(|next_hop| self.member(next_hop, &seen));
        let Some(Some((next_hop, entry))) = found else { return host(HostReason::Unreachable) }; // 12
        if entry.verdict() == Verdict::Local {
            return host(HostReason::Local); // 13
        }
        self.reverse_path(ingress, &seen)?; // 14
        match entry.verdict() {
            Verdict::Blackhole => return drop(DropReason::Blackhole), // 15
            Verdict::Unreachable | Verdict::Prohibit => return host(HostReason::Unreachable), // 16
            _ => {}
        }
        if seen.ttl == 0 || seen.ttl == 1 {
            return host(HostReason::Ttl); // 17
        }
        let member = self.interfaces.iter().position(|i| i.index == entry.egress());
        let (Some(egress), Verdict::Ready | Verdict::Incomplete) = (member, entry.verdict()) else {
            return host(HostReason::KernelRoute); // 18
        };
        if entry.verdict() == Verdict::Incomplete {
            return host(HostReason::Unresolved); // 19
        }
        if seen.length > entry.mtu() as usize {
            return host(HostReason::TooBig); // 20
        }
        Ok((seen, next_hop, entry, egress as u16)) // 21
    }

    fn find(&self, address: IpAddr) -> Option<NextHop> {
        match address {
            IpAddr::V4(address) => self.routes4.lookup(address.to_bits()),
            IpAddr::V6(address) => self.routes6.lookup(address.to_bits()),
        }
    }

    fn entry(&self, next_hop: NextHop) -> Adjacency {
        self.entries.get(&next_hop.get()).copied().unwrap_or(Adjacency::plain(Verdict::Free))
    }

    fn bucket(&self, group: &Adjacency, bucket: u32) -> Option<NextHop> {
        NextHop::new(self.groups.get(&group.group_number())?[bucket as usize])
    }

    fn member(&self, next_hop: NextHop, seen: &Seen) -> Option<(NextHop, Adjacency)> {
        let entry = self.entry(next_hop);
        if entry.verdict() != Verdict::Group {
            return Some((next_hop, entry));
        }
        let source = (bits(seen.source), seen.source_port);
        let destination = (bits(seen.destination), seen.destination_port);
        let hash = flow_hash(source, destination, seen.protocol);
        let member = self.bucket(&entry, hash >> 24)?;
        Some((member, self.entry(member)))
    }

    fn reverse_path(&self, ingress: &Interface, seen: &Seen) -> Result<(), Stop> {
        let filter = if seen.source.is_ipv4() { ingress.rpf4 } else { ingress.rpf6 };
        let failed = drop(DropReason::ReversePath);
        if filter == Rpf::Off {
            return Ok(());
        }
        let Some(next_hop) = self.find(seen.source) else { return failed };
        let entry = self.entry(next_hop);
        let nowhere = [Verdict::Local, Verdict::Blackhole, Verdict::Unreachable, Verdict::Prohibit];
        if nowhere.contains(&entry.verdict()) {
            return failed;
        }
        if filter == Rpf::Loose {
            return Ok(());
        }
        let members: Vec<Adjacency> = match entry.verdict() {
            Verdict::Group => {
                (0..256).filter_map(|b| self.bucket(&entry, b)).map(|n| self.entry(n)).collect()
            }
            _ => vec![entry],
        };
        let known = |e: &Adjacency| matches!(e.verdict(), Verdict::Ready | Verdict::Incomplete);
        let unknown = |e: &Adjacency| matches!(e.verdict(), Verdict::Host | Verdict::Free);
        if members.iter().any(|e| known(e) && e.egress() == ingress.index) {
            return Ok(());
        }
        if members.iter().any(unknown) { host(HostReason::KernelRoute) } else { failed }
    }
}

fn host<T>(why: HostReason) -> Result<T, Stop> {
    Err(Decision::Host(why))
}

fn drop<T>(why: DropReason) -> Result<T, Stop> {
    Err(Decision::Drop(why))
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn look_at(ingress: &Interface, frame: &[u8]) -> Result<Seen, Stop> {
    if frame.len() < 14 {
        return drop(DropReason::Malformed);
    }
    let (to, ethertype, packet) = (&frame[0..6], (frame[12], frame[13]), &frame[14..]);
    if to[0] % 2 == 1 {
        return host(HostReason::LinkMulticast); // 2
    }
    if to != ingress.mac {
        return host(HostReason::OtherStation); // 3
    }
    match ethertype {
        (0x08, 0x00) if !ingress.forwards4 => host(HostReason::NotForwarding), // 5
        (0x08, 0x00) => look_at_4(packet),
        (0x86, 0xdd) if !ingress.forwards6 => host(HostReason::NotForwarding), // 5
        (0x86, 0xdd) => look_at_6(packet),
        _ => host(HostReason::NotIp), // 4
    }
}

fn look_at_4(packet: &[u8]) -> Result<Seen, Stop> {
    if packet.len() < 20 || packet[0] / 16 != 4 {
        return drop(DropReason::Malformed); // 6
    }
    let header_length = usize::from(packet[0] % 16) * 4;
    let total_length = usize::from(packet[2]) * 256 + usize::from(packet[3]);
    if header_length < 20
        || header_length > packet.len()
        || total_length < header_length
        || total_length > packet.len()
    {
        return drop(DropReason::Malformed); // 6
    }
    let mut zeroed = packet[..header_length].to_vec();
    zeroed[10..12].fill(0);
    let (right, stored) = (header_checksum(&zeroed), u16::from(packet[10]) * 256 + u16::from(packet[11]));
    // Ones-complement arithmetic has two zeros.
    if stored != right && (stored, right) != (0xffff, 0) {
        return drop(DropReason::BadChecksum); // 7
    }
    let source = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
    let destination = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
    let zero_net = |a: Ipv4Addr| a.octets()[0] == 0;
    if zero_net(source) || source.is_loopback() || source.is_multicast() || source.is_broadcast() {
        return drop(DropReason::MartianSource); // 8
    }
    if zero_net(destination) || destination.is_loopback() {
        return drop(DropReason::MartianDestination); // 9
    }
    if destination.is_multicast() || destination.is_broadcast() || destination.is_link_local() {
        return host(HostReason::Local); // 10
    }
    if header_length != 20 {
        return host(HostReason::Options); // 11
    }
    let more_fragments = packet[6] & 0x20 != 0;
    let offset = usize::from(packet[6] & 0x1f) * 256 + usize::from(packet[7]);
    let payload = if more_fragments || offset > 0 { &[][..] } else { &packet[20..total_length] };
    Ok(seen(source.into(), destination.into(), total_length, packet[8], packet[9], payload))
}

fn look_at_6(packet: &[u8]) -> Result<Seen, Stop> {
    if packet.len() < 40 || packet[0] / 16 != 6 {
        return drop(DropReason::Malformed); // 6
    }
    let payload_length = usize::from(packet[4]) * 256 + usize::from(packet[5]);
    if 40 + payload_length > packet.len() {
        return drop(DropReason::Malformed); // 6
    }
    let address = |at: usize| Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(|i| packet[at + i]));
    let (source, destination) = (address(8), address(24));
    if source.is_unspecified() || source.is_loopback() || source.is_multicast() {
        return drop(DropReason::MartianSource); // 8
    }
    if destination.is_unspecified() || destination.is_loopback() {
        return drop(DropReason::MartianDestination); // 9
    }
    let link_local = source.is_unicast_link_local() || destination.is_unicast_link_local();
    if destination.is_multicast() || link_local {
        return host(HostReason::Local); // 10
    }
    if packet[6] == 0 || payload_length == 0 {
        return host(HostReason::Options); // 11
    }
    let end = 40 + payload_length;
    Ok(seen(source.into(), destination.into(), end, packet[7], packet[6], &packet[40..end]))
}

fn seen(source: IpAddr, destination: IpAddr, length: usize, ttl: u8, protocol: u8, payload: &[u8]) -> Seen {
    let (tcp, udp, dccp, sctp) = (6, 17, 33, 132);
    let has_ports = [tcp, udp, dccp, sctp].contains(&protocol) && payload.len() >= 4;
    let port =
        |at: usize| if has_ports { u16::from(payload[at]) * 256 + u16::from(payload[at + 1]) } else { 0 };
    let (source_port, destination_port) = (port(0), port(2));
    Seen { source, destination, length, ttl, protocol, source_port, destination_port }
}

/// RFC 1071: the complement of the ones-complement sum of all words.
fn header_checksum(header: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in header.chunks(2) {
        sum += u32::from(pair[0]) * 256 + u32::from(pair[1]);
        if sum > 0xffff {
            sum -= 0xffff;
        }
    }
    0xffff - sum as u16
}

/// Rule 21.
fn leaving(frame: &[u8], seen: &Seen, entry: &Adjacency) -> Vec<u8> {
    let mut out = entry.header().to_vec();
    out.extend(&frame[14..14 + seen.length]);
    match seen.source {
        IpAddr::V4(_) => {
            out[14 + 8] = seen.ttl - 1;
            out[14 + 10..14 + 12].fill(0);
            let checksum = header_checksum(&out[14..34]);
            out[14 + 10..14 + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        IpAddr::V6(_) => out[14 + 7] = seen.ttl - 1,
    }
    out
}
