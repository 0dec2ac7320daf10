//! What becomes of a packet, and its names.

use std::fmt;

use ringway_fib::NextHop;

/// What becomes of a frame. The rules that lead here are in `docs/router.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It leaves by another interface, or the same one.
    Forward(Forward),
    /// On to the kernel's stack, unchanged.
    Host(HostReason),
    /// Gone.
    Drop(DropReason),
}

/// Where a frame leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Forward {
    /// The adjacency whose link header it gets.
    pub next_hop: NextHop,
    /// Position of the egress interface in [`Interfaces`](super::Interfaces).
    pub egress: u16,
    /// Bytes of the frame that leave: link header and packet.
    pub len: u32,
}

impl Decision {
    /// `forwarded`, or the name of the reason.
    ///
    /// ```
    /// use ringway_fwd::router::{Decision, HostReason};
    /// assert_eq!(Decision::Host(HostReason::Ttl).name(), "ttl");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward(_) => "forwarded",
            Self::Host(why) => why.name(),
            Self::Drop(why) => why.name(),
        }
    }
}

/// Why a frame goes to the kernel's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HostReason {
    /// The tables are not to be trusted.
    NotReady,
    /// Link destination is broadcast or multicast.
    LinkMulticast,
    /// Link destination is not that of the interface.
    OtherStation,
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// The interface may not forward this family.
    NotForwarding,
    /// It is for the host, or never forwarded.
    Local,
    /// IPv4 options, IPv6 hop-by-hop options or jumbograms.
    Options,
    /// No route, unreachable, prohibited.
    Unreachable,
    /// TTL or hop limit is used up.
    Ttl,
    /// The route needs what only the kernel does.
    KernelRoute,
    /// Link address of the next hop is not known.
    Unresolved,
    /// Longer than the MTU of the next hop.
    TooBig,
}

impl HostReason {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 12] = [
        Self::NotReady,
        Self::LinkMulticast,
        Self::OtherStation,
        Self::NotIp,
        Self::NotForwarding,
        Self::Local,
        Self::Options,
        Self::Unreachable,
        Self::Ttl,
        Self::KernelRoute,
        Self::Unresolved,
        Self::TooBig,
    ];

    /// Its name as a counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotReady => "not_ready",
            Self::LinkMulticast => "link_multicast",
            Self::OtherStation => "other_station",
            Self::NotIp => "not_ip",
            Self::NotForwarding => "not_forwarding",
            Self::Local => "local",
            Self::Options => "options",
            Self::Unreachable => "unreachable",
            Self::Ttl => "ttl",
            Self::KernelRoute => "kernel_route",
            Self::Unresolved => "unresolved",
            Self::TooBig => "too_big",
        }
    }
}

/// Why a frame is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// Lengths or version that can't be.
    Malformed,
    /// IPv4 header checksum.
    BadChecksum,
    /// A source that is none.
    MartianSource,
    /// A destination that can't be forwarded to.
    MartianDestination,
    /// The reverse path filter.
    ReversePath,
    /// A blackhole route.
    Blackhole,
    /// More for the host than it is to get.
    Budget,
}

impl DropReason {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 7] = [
        Self::Malformed,
        Self::BadChecksum,
        Self::MartianSource,
        Self::MartianDestination,
        Self::ReversePath,
        Self::Blackhole,
        Self::Budget,
    ];

    /// Its name as a counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::BadChecksum => "bad_checksum",
            Self::MartianSource => "martian_source",
            Self::MartianDestination => "martian_destination",
            Self::ReversePath => "reverse_path",
            Self::Blackhole => "blackhole",
            Self::Budget => "budget",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Forward(to) => return write!(f, "forwarded to {} by {}", to.next_hop, to.egress),
            Self::Host(_) => "host",
            Self::Drop(_) => "drop",
        };
        write!(f, "{kind} {}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn counters_have_names_of_their_own_and_places_in_order() {
        let host = HostReason::ALL.map(HostReason::name);
        let drop = DropReason::ALL.map(DropReason::name);
        assert_eq!(host.iter().chain(&drop).collect::<HashSet<_>>().len(), host.len() + drop.len());
        assert!((0..).zip(HostReason::ALL).all(|(i, why)| why as usize == i));
        assert!((0..).zip(DropReason::ALL).all(|(i, why)| why as usize == i));
        assert_eq!(Decision::Drop(DropReason::Budget).to_string(), "drop budget");
    }
}
