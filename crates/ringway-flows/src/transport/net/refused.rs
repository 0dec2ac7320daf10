//! Why a received frame goes no further.

use ringway_wire::Malformed;

/// Why a received frame goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A header or a message that is cut short, or has a value that it must not have.
    Malformed,
    /// A protocol or a message that emulated hosts don't speak.
    OtherProtocol,
    /// The frame goes to a hardware address that the target host doesn't have.
    WrongMac,
    /// The target host is in another VLAN.
    WrongVlan,
    /// No host of this side has the target address.
    NotForUs,
    /// No host of the far side has the source address.
    UnknownSource,
    /// A fragment of an IP packet.
    Fragment,
    /// The checksum of the IPv4 header is wrong.
    IpChecksum,
    /// The checksum of TCP, UDP or ICMP is wrong.
    Checksum,
}

impl Refused {
    /// All reasons, in the order of their counters.
    pub(crate) const ALL: [Self; 9] = [
        Self::Malformed,
        Self::OtherProtocol,
        Self::WrongMac,
        Self::WrongVlan,
        Self::NotForUs,
        Self::UnknownSource,
        Self::Fragment,
        Self::IpChecksum,
        Self::Checksum,
    ];

    /// The name of its counter.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::OtherProtocol => "other_protocol",
            Self::WrongMac => "wrong_mac",
            Self::WrongVlan => "wrong_vlan",
            Self::NotForUs => "not_for_us",
            Self::UnknownSource => "unknown_source",
            Self::Fragment => "fragment",
            Self::IpChecksum => "ip_checksum",
            Self::Checksum => "checksum",
        }
    }
}

impl From<Malformed> for Refused {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::ArpUnsupported => Self::OtherProtocol,
            _ => Self::Malformed,
        }
    }
}

/// How many frames were refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusals([u64; Refused::ALL.len()]);

impl Refusals {
    /// Counts one.
    #[cold]
    pub(crate) fn add(&mut self, why: Refused) {
        self.0[why as usize] += 1;
    }

    /// How many were refused for a reason.
    pub(crate) const fn of(&self, why: Refused) -> u64 {
        self.0[why as usize]
    }

    /// Names and numbers of all reasons.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Refused::ALL.into_iter().map(|why| (why.name(), self.of(why)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_reason_has_its_own_counter_and_name() {
        for (at, why) in Refused::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, at);
            let mut refusals = Refusals::default();
            refusals.add(why);
            assert!(refusals.iter().all(|(name, count)| (name == why.name()) == (count == 1)), "{why:?}");
        }
        let names: HashSet<_> = Refused::ALL.iter().map(|why| why.name()).collect();
        assert_eq!(names.len(), Refused::ALL.len());
    }
}
