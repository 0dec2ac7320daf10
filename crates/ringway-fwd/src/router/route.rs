//! Rules 12 to 20: where the tables lead.

use super::decision::{Decision, DropReason, Forward, HostReason};
use super::interface::{Interfaces, Rpf};
use super::packet::{LINK, Packet};
use crate::control::{Adjacencies, Adjacency, BUCKETS, Family, Groups, Verdict, flow_hash};
use ringway_fib::NextHop;

/// What routing looks at besides the packet.
#[derive(Debug)]
pub(super) struct Routing<'a> {
    pub(super) adjacencies: &'a Adjacencies,
    pub(super) groups: &'a Groups,
    pub(super) interfaces: &'a Interfaces,
    /// Where the packet came in.
    pub(super) ingress: u32,
    /// Reverse path filters of IPv4 and IPv6 there.
    pub(super) rpf: [Rpf; 2],
}

/// What the reverse path filter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    Good,
    Bad,
    /// Only the kernel knows where the source is.
    Unknown,
}

impl Routing<'_> {
    pub(super) fn filter(&self, family: Family) -> Rpf {
        self.rpf[family as usize]
    }

    /// What becomes of a packet whose destination and source led to these numbers, 0 for no route; and its link header.
    #[inline]
    pub(super) fn decide(&self, packet: &Packet, found: u16, source: u16) -> (Decision, [u8; LINK]) {
        let host = |why| (Decision::Host(why), [0; LINK]);
        let drop = |why| (Decision::Drop(why), [0; LINK]);
        let Some((next_hop, entry)) = self.member(packet, found) else {
            return host(HostReason::Unreachable);
        };
        let verdict = entry.verdict();
        if verdict == Verdict::Local {
            return host(HostReason::Local);
        }
        match self.reverse_path(packet, source) {
            Path::Good => {}
            Path::Bad => return drop(DropReason::ReversePath),
            Path::Unknown => return host(HostReason::KernelRoute),
        }
        match verdict {
            Verdict::Blackhole => return drop(DropReason::Blackhole),
            Verdict::Unreachable | Verdict::Prohibit => return host(HostReason::Unreachable),
            _ if packet.ttl <= 1 => return host(HostReason::Ttl),
            Verdict::Ready | Verdict::Incomplete => {}
            _ => return host(HostReason::KernelRoute),
        }
        let Some(egress) = self.interfaces.position(entry.egress()) else {
            return host(HostReason::KernelRoute);
        };
        if verdict == Verdict::Incomplete {
            return host(HostReason::Unresolved);
        }
        if packet.len > entry.mtu() {
            return host(HostReason::TooBig);
        }
        let len = packet.len + LINK as u32;
        (Decision::Forward(Forward { next_hop, egress, len }), entry.header())
    }

    /// The entry of a number, members of groups instead of the group.
    #[inline]
    fn member(&self, packet: &Packet, found: u16) -> Option<(NextHop, Adjacency)> {
        let next_hop = NextHop::new(found)?;
        let entry = self.adjacencies.load(next_hop);
        if entry.verdict() != Verdict::Group {
            return Some((next_hop, entry));
        }
        let member = self.groups.pick(entry.group_number(), flow(packet))?;
        Some((member, self.adjacencies.load(member)))
    }

    #[inline]
    fn reverse_path(&self, packet: &Packet, source: u16) -> Path {
        let filter = self.filter(packet.family);
        if filter == Rpf::Off {
            return Path::Good;
        }
        let Some(source) = NextHop::new(source) else { return Path::Bad };
        let entry = self.adjacencies.load(source);
        match (entry.verdict(), filter) {
            (Verdict::Local | Verdict::Blackhole | Verdict::Unreachable | Verdict::Prohibit, _) => Path::Bad,
            (_, Rpf::Loose) => Path::Good,
            (Verdict::Group, _) => self.reverse_group(packet, entry.group_number()),
            _ => self.leads_back(&entry),
        }
    }

    /// Whether an entry leads out of the ingress.
    fn leads_back(&self, entry: &Adjacency) -> Path {
        match entry.verdict() {
            Verdict::Ready | Verdict::Incomplete if entry.egress() == self.ingress => Path::Good,
            Verdict::Host | Verdict::Free => Path::Unknown,
            _ => Path::Bad,
        }
    }

    /// The best that a member of a group says. The packet's flow has the same hash both ways: its own member is asked first.
    fn reverse_group(&self, packet: &Packet, group: u32) -> Path {
        let mut best = Path::Bad;
        let mut last = None;
        for bucket in 0..BUCKETS as u32 {
            let member = self.groups.pick(group, flow(packet) ^ bucket << 24);
            if member == last {
                continue;
            }
            last = member;
            match member.map_or(Path::Bad, |member| self.leads_back(&self.adjacencies.load(member))) {
                Path::Good => return Path::Good,
                Path::Unknown => best = Path::Unknown,
                Path::Bad => {}
            }
        }
        best
    }
}

#[inline]
fn flow(packet: &Packet) -> u32 {
    let [source, destination] = packet.ports;
    flow_hash((packet.source, source), (packet.destination, destination), packet.protocol)
}
