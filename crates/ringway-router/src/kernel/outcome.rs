//! What becomes of packets, by name.

use std::ops::{Add, Sub};

use ringway_fwd::router::{DropReason, HostReason};

/// What became of a packet, or of a forwarded one at its egress: names and rules are in `docs/router.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    /// Sent on by an interface.
    Forwarded,
    /// To the host: the tables are not to be trusted.
    NotReady,
    /// To the host: link address of several stations.
    LinkMulticast,
    /// To the host: link address of another station.
    OtherStation,
    /// To the host: neither IPv4 nor IPv6.
    NotIp,
    /// To the host: the interface may not forward the family.
    NotForwarding,
    /// To the host: for the host itself, or its link.
    Local,
    /// To the host: options of IPv4, or hop-by-hop options of IPv6.
    Options,
    /// To the host, which answers: no route, or one that says so.
    Unreachable,
    /// To the host, which answers: it has gone far enough.
    Ttl,
    /// To the host: it forwards what the fast path does not.
    KernelRoute,
    /// To the host: link address of the next hop is unknown.
    Unresolved,
    /// To the host: longer than the next hop's MTU.
    TooBig,
    /// Dropped: lengths or version contradict each other.
    Malformed,
    /// Dropped: sum of the IPv4 header.
    BadChecksum,
    /// Dropped: its source is none.
    MartianSource,
    /// Dropped: it can't be forwarded to its destination.
    MartianDestination,
    /// Dropped: its source is not where it came from.
    ReversePath,
    /// Dropped: the route says so.
    Blackhole,
    /// Dropped: too much for the host.
    Budget,
    /// Forwarded to this member, and its driver took it.
    Sent,
    /// Forwarded to this member, and its driver had no room.
    DeviceFull,
    /// Forwarded to this member, which can't send it: down, MTU too small, or a veth whose far end does not run NAPI.
    DeviceRefused,
}

/// Where a packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// On by an interface.
    Forwarded,
    /// To the host's stack.
    Host,
    /// Nowhere.
    Drop,
    /// Counted at the egress, of what was forwarded there.
    Egress,
}

impl Outcome {
    /// All, in the order of the counters.
    pub const ALL: [Self; 23] = [
        Self::Forwarded,
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
        Self::Malformed,
        Self::BadChecksum,
        Self::MartianSource,
        Self::MartianDestination,
        Self::ReversePath,
        Self::Blackhole,
        Self::Budget,
        Self::Sent,
        Self::DeviceFull,
        Self::DeviceRefused,
    ];

    /// Its name in tables and `docs/router.md`.
    ///
    /// ```
    /// assert_eq!(ringway_router::kernel::Outcome::MartianSource.name(), "martian_source");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Sent => "sent",
            Self::DeviceFull => "device_full",
            Self::DeviceRefused => "device_refused",
            // The rules have the others, in the same order.
            other => match HostReason::ALL.get(other as usize - 1) {
                Some(why) => why.name(),
                None => DropReason::ALL[other as usize - 1 - HostReason::ALL.len()].name(),
            },
        }
    }

    /// Where such packets went.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self as usize {
            0 => Kind::Forwarded,
            1..13 => Kind::Host,
            13..20 => Kind::Drop,
            _ => Kind::Egress,
        }
    }
}

/// Packets by what became of them.
///
/// ```
/// use ringway_router::kernel::{Counts, Outcome};
/// let counts = Counts::default();
/// assert_eq!(counts.frames_in(), counts.get(Outcome::Forwarded));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    counts: [u64; Outcome::ALL.len()],
}

impl Counts {
    /// How many it were.
    #[must_use]
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize]
    }

    /// All that came in.
    #[must_use]
    pub fn frames_in(&self) -> u64 {
        self.iter().filter(|(outcome, _)| outcome.kind() != Kind::Egress).map(|(_, n)| n).sum()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.into_iter().map(|outcome| (outcome, self.get(outcome)))
    }

    pub(super) fn add(&mut self, outcome: Outcome, n: u64) {
        self.counts[outcome as usize] += n;
    }
}

impl FromIterator<(Outcome, u64)> for Counts {
    fn from_iter<I: IntoIterator<Item = (Outcome, u64)>>(counts: I) -> Self {
        let mut sum = Self::default();
        counts.into_iter().for_each(|(outcome, n)| sum.counts[outcome as usize] += n);
        sum
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(to, n)| *to = to.wrapping_add(n));
        self
    }
}

impl Sub for Counts {
    type Output = Self;

    /// What came between an earlier reading and this one.
    fn sub(mut self, earlier: Self) -> Self {
        self.counts.iter_mut().zip(earlier.counts).for_each(|(to, n)| *to = to.wrapping_sub(n));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_program() {
        assert!(Outcome::ALL.iter().enumerate().all(|(i, outcome)| *outcome as usize == i));
        assert_eq!((Outcome::TooBig.kind(), Outcome::Malformed.kind()), (Kind::Host, Kind::Drop));
        assert_eq!((Outcome::Budget.kind(), Outcome::Sent.kind()), (Kind::Drop, Kind::Egress));
        let counts: Counts =
            [(Outcome::Forwarded, 3), (Outcome::Sent, 2), (Outcome::Forwarded, 1)].into_iter().collect();
        assert_eq!((counts.get(Outcome::Forwarded), counts.frames_in()), (4, 4));
        for outcome in Outcome::ALL {
            let letters = outcome.name().replace('_', "");
            assert_eq!(format!("{outcome:?}").to_lowercase(), letters);
        }
    }
}
