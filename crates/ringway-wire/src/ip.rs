//! Protocol numbers shared by IPv4 and IPv6.

use std::fmt;

/// Protocol carried by an IP packet: IPv4 "protocol", IPv6 "next header" (IANA "Protocol Numbers").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// IPv6 hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4.
    pub const ICMP: Self = Self(1);
    /// Transmission Control Protocol.
    pub const TCP: Self = Self(6);
    /// User Datagram Protocol.
    pub const UDP: Self = Self(17);
    /// IPv6 routing header (RFC 8200 section 4.4).
    pub const IPV6_ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200 section 4.5).
    pub const IPV6_FRAGMENT: Self = Self(44);
    /// Generic Routing Encapsulation.
    pub const GRE: Self = Self(47);
    /// Encapsulating Security Payload (RFC 4303).
    pub const ESP: Self = Self(50);
    /// Authentication Header (RFC 4302).
    pub const AH: Self = Self(51);
    /// ICMP for IPv6.
    pub const ICMPV6: Self = Self(58);
    /// Nothing follows the IPv6 headers (RFC 8200 section 4.7).
    pub const IPV6_NO_NEXT: Self = Self(59);
    /// IPv6 destination options (RFC 8200 section 4.6).
    pub const IPV6_DESTINATION: Self = Self(60);
    /// Stream Control Transmission Protocol.
    pub const SCTP: Self = Self(132);
    /// IPv6 mobility header (RFC 6275).
    pub const IPV6_MOBILITY: Self = Self(135);
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ICMP => f.write_str("icmp"),
            Self::TCP => f.write_str("tcp"),
            Self::UDP => f.write_str("udp"),
            Self::ICMPV6 => f.write_str("icmpv6"),
            Self(other) => write!(f, "protocol {other}"),
        }
    }
}

impl fmt::Debug for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpProtocol({self})")
    }
}
