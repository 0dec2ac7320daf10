//! What becomes of packets to an address: the rules of `docs/router.md` one by one, as far as they ask for addresses.

use std::net::IpAddr;

use ringway_fib::NextHop;
use ringway_fwd::control::{Adjacency, Family, Net, Resolver, Verdict, flow_hash};

use super::protocol::Flow;
use crate::kernel::{Member, Outcome, Rpf};

/// What becomes of the packets, by which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdicts {
    pub(super) rule: u8,
    pub(super) outcome: Outcome,
}

/// What becomes of packets, and what they matched.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) verdict: Verdicts,
    /// The longest prefix and what it leads to, where the rules look.
    pub(super) found: Option<(Net, NextHop)>,
    /// The member of the group for this flow, else the same next hop.
    pub(super) next_hop: Option<NextHop>,
    /// Hash that picks the member.
    pub(super) hash: u32,
}

/// Follows the rules. `members` are those whose interfaces exist.
pub(super) fn trace(flow: &Flow, ingress: Option<&Member>, resolver: &Resolver, members: &[Member]) -> Trace {
    let hash = hash_of(flow);
    let found = resolver.find(flow.to);
    let next_hop = found.and_then(|(_, next_hop)| resolver.member(next_hop, hash));
    let (rule, outcome) = before(flow, ingress).unwrap_or_else(|| {
        let Some((_, first)) = found else { return (12, Outcome::Unreachable) };
        let entry = next_hop.and_then(|n| resolver.entry(n));
        let Some(entry) = entry else { return (12, Outcome::Unreachable) };
        let local = resolver.entry(first).is_some_and(|e| e.verdict() == Verdict::Local);
        if local {
            return (13, Outcome::Local);
        }
        if let (Some(from), Some(ingress)) = (flow.from, ingress)
            && let Some(why) = reverse(from, ingress, resolver)
        {
            return (14, why);
        }
        behind(entry, members)
    });
    Trace { verdict: Verdicts { rule, outcome }, found, next_hop, hash }
}

/// Rules 5 to 10.
fn before(flow: &Flow, ingress: Option<&Member>) -> Option<(u8, Outcome)> {
    let family = Family::of(flow.to);
    let may = |m: &Member| if family == Family::V4 { m.interface.forwards4 } else { m.interface.forwards6 };
    if ingress.is_some_and(|m| !may(m)) {
        return Some((5, Outcome::NotForwarding));
    }
    if flow.from.is_some_and(no_source) {
        return Some((8, Outcome::MartianSource));
    }
    let link_local = |addr| matches!(addr, IpAddr::V6(addr) if addr.is_unicast_link_local());
    match flow.to {
        IpAddr::V4(to) if to.octets()[0] == 0 || to.is_loopback() => Some((9, Outcome::MartianDestination)),
        IpAddr::V6(to) if to.is_unspecified() || to.is_loopback() => Some((9, Outcome::MartianDestination)),
        IpAddr::V4(to) if to.is_multicast() || to.is_broadcast() || to.is_link_local() => {
            Some((10, Outcome::Local))
        }
        to if to.is_multicast() || link_local(to) || flow.from.is_some_and(link_local) => {
            Some((10, Outcome::Local))
        }
        _ => None,
    }
}

fn no_source(from: IpAddr) -> bool {
    match from {
        IpAddr::V4(a) => a.octets()[0] == 0 || a.is_loopback() || a.is_multicast() || a.is_broadcast(),
        IpAddr::V6(a) => a.is_unspecified() || a.is_loopback() || a.is_multicast(),
    }
}

/// Rules 15 to 21.
fn behind(entry: &Adjacency, members: &[Member]) -> (u8, Outcome) {
    let is_member = members.iter().any(|m| m.interface.index == entry.egress());
    match entry.verdict() {
        Verdict::Blackhole => (15, Outcome::Blackhole),
        Verdict::Unreachable | Verdict::Prohibit => (16, Outcome::Unreachable),
        Verdict::Ready if is_member => (21, Outcome::Forwarded),
        Verdict::Incomplete if is_member => (19, Outcome::Unresolved),
        _ => (18, Outcome::KernelRoute),
    }
}

/// Rule 14: why packets with this source are not forwarded.
fn reverse(from: IpAddr, ingress: &Member, resolver: &Resolver) -> Option<Outcome> {
    let filter = if from.is_ipv4() { ingress.interface.rpf4 } else { ingress.interface.rpf6 };
    if filter == Rpf::Off {
        return None;
    }
    let failed = Some(Outcome::ReversePath);
    let Some((_, next_hop)) = resolver.find(from) else { return failed };
    let Some(entry) = resolver.entry(next_hop) else { return failed };
    let members: Vec<_> = resolver.group(next_hop).filter_map(|(n, _)| resolver.entry(n)).collect();
    match entry.verdict() {
        Verdict::Local | Verdict::Blackhole | Verdict::Unreachable | Verdict::Prohibit => return failed,
        _ if filter == Rpf::Loose => return None,
        _ => {}
    }
    let ways = if entry.verdict() == Verdict::Group { members } else { vec![entry] };
    let known = |e: &Adjacency| matches!(e.verdict(), Verdict::Ready | Verdict::Incomplete);
    if ways.iter().any(|e| known(e) && e.egress() == ingress.interface.index) {
        return None;
    }
    // where they lead only the kernel knows
    if ways.iter().all(|e| known(e)) { failed } else { Some(Outcome::KernelRoute) }
}

fn hash_of(flow: &Flow) -> u32 {
    let bits = |addr| match addr {
        IpAddr::V4(addr) => u128::from(addr.to_bits()),
        IpAddr::V6(addr) => addr.to_bits(),
    };
    let from = flow.from.map_or(0, bits);
    flow_hash((from, flow.ports.0), (bits(flow.to), flow.ports.1), flow.protocol)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ringway_fwd::control::{Changes, Resolver};
    use ringway_fwd::router::Decision;
    use ringway_fwd::router::generate::{Frames, Links, state};
    use ringway_fwd::router::reference::Reference;

    use super::*;
    use crate::kernel::Interface;

    /// What `router get` would be asked about a whole packet.
    fn flow_of(frame: &[u8]) -> Flow {
        let u16_at = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let (to, from, protocol, len, at, whole): (IpAddr, IpAddr, _, _, _, _) = if frame[12] == 0x08 {
            let address = |at: usize| <[u8; 4]>::try_from(&frame[at..at + 4]).unwrap();
            (address(30).into(), address(26).into(), frame[23], u16_at(16), 34, u16_at(20) & 0x3fff == 0)
        } else {
            let address = |at: usize| <[u8; 16]>::try_from(&frame[at..at + 16]).unwrap();
            (address(38).into(), address(22).into(), frame[20], 40 + u16_at(18), 54, true)
        };
        let ports = whole && [6, 17, 33, 132].contains(&protocol) && usize::from(len) + 14 >= at + 4;
        let ports = if ports { (u16_at(at), u16_at(at + 2)) } else { (0, 0) };
        Flow { to, from: Some(from), interface: None, protocol, ports }
    }

    /// Of everything that addresses decide, a question gets the answer that a packet gets from the slow reference.
    #[test]
    fn questions_are_answered_as_packets_are() {
        let links = Links { lan: 2, wan: 3, other: 4 };
        let mut reference = Reference::new(links.members().to_vec());
        let mut resolver = Resolver::new(&mut reference);
        resolver.update(&state(links), Changes::everything(), &mut reference).unwrap();
        let mut frames = Frames::new(7, Links::mac(links.lan), Vec::new());
        let mut seen = BTreeSet::new();
        for turn in 0..60_000 {
            let rpf = [Rpf::Off, Rpf::Loose, Rpf::Strict][turn % 3];
            let lan = Interface { rpf4: rpf, rpf6: rpf, ..links.members()[0] };
            reference.interfaces[0] = lan;
            let members = [lan, links.members()[1]].map(|interface| Member {
                number: interface.index,
                name: format!("if{}", interface.index),
                interface,
                path: crate::kernel::Path::Xdp,
                gone: false,
            });
            let frame = frames.next_frame();
            let (decision, _) = reference.decide(0, frame);
            // Other parts of the packet decided these.
            let other = ["malformed", "bad_checksum", "link_multicast", "other_station", "not_ip", "options"];
            if other.contains(&decision.name()) || ["ttl", "too_big"].contains(&decision.name()) {
                continue;
            }
            let found = trace(&flow_of(frame), Some(&members[0]), &resolver, &members);
            assert_eq!(found.verdict.outcome.name(), decision.name(), "{rpf:?} {:?}", flow_of(frame));
            if let Decision::Forward(to) = decision {
                assert_eq!(found.next_hop, Some(to.next_hop), "{:?}", flow_of(frame));
            }
            seen.insert((found.verdict.rule, decision.name()));
        }
        let rules: BTreeSet<_> = seen.iter().map(|(rule, _)| *rule).collect();
        assert_eq!(rules, BTreeSet::from([8, 9, 10, 12, 13, 14, 15, 16, 18, 19, 21]), "{seen:?}");
    }
}
