//! Packets as bytes: views of protocol headers, checksums, what a sender left to be done, capture files. No I/O, no unsafe code.
//!
//! A view such as [`Ipv4`] wraps any byte container (`&[u8]`, `&mut [u8]`, `[u8; N]`, `Vec<u8>`)
//! that starts with that header. `new_checked` validates every length once. After that no getter,
//! setter or payload accessor can panic, whatever the bytes say. Lengths that bound a payload are
//! kept in the view, so a byte changed later cannot move the bounds. Setters exist when the
//! container is writable. To write a header into a buffer with old contents, use `init` where a
//! view has it. It zeroes the header and writes the fields that must be right for the view to be
//! valid.
//!
//! Values are in host order in the API and in network (big-endian) order on the wire. Nothing here allocates.
//!
//! | file | views and functions | specification |
//! | --- | --- | --- |
//! | `ethernet` | [`Ethernet`], [`MacAddr`], [`EtherType`] | IEEE 802.3 |
//! | `vlan` | [`Vlan`] | IEEE 802.1Q, 802.1ad |
//! | `arp` | [`Arp`] | RFC 826 |
//! | `ip` | [`IpProtocol`] | IANA protocol numbers |
//! | `ipv4` | [`Ipv4`] | RFC 791 |
//! | `ipv6` | [`Ipv6`], extension-header walk | RFC 8200 |
//! | `udp` | [`Udp`] | RFC 768 |
//! | `tcp` | [`Tcp`] | RFC 9293 |
//! | [`icmp`] | [`Icmp`], [`IcmpEcho`] | RFC 792, RFC 4443 |
//! | [`checksum`] | sums, pseudo headers, incremental update | RFC 1071, RFC 1624 |
//! | `parse` | [`parse()`], [`Packet`] | all of the above, outermost first |
//! | [`offload`] | checksums and segmentation that a sender left to be done | Linux `virtio_net_hdr` |
//! | [`pcapfile`] | capture files: read, written, replayed in time | pcap, pcapng |
//!
//! Why not a crate: the slices of etherparse are checked but read-only. `pnet_packet` has setters
//! but checks only the minimum size. Forwarding needs views that are checked in full once and then
//! rewrite fields in place, so this crate has its own.
//!
//! # Examples
//!
//! Build an echo request in a fresh buffer, then parse it:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use ringway_wire::{EtherType, Ethernet, IcmpEcho, IpProtocol, Ipv4, MacAddr, Transport, icmp};
//!
//! let mut frame = [0; 60];
//! let mut eth = Ethernet::new_checked(&mut frame[..])?;
//! eth.set_dst(MacAddr::BROADCAST);
//! eth.set_src(MacAddr([2, 0, 0, 0, 0, 1]));
//! eth.set_ethertype(EtherType::IPV4);
//!
//! let mut ip = Ipv4::init(eth.payload_mut(), 16)?;
//! ip.set_protocol(IpProtocol::ICMP);
//! ip.set_src(Ipv4Addr::new(192, 0, 2, 1));
//! ip.set_dst(Ipv4Addr::new(192, 0, 2, 2));
//! ip.fill_checksum();
//!
//! let mut echo = IcmpEcho::init(ip.payload_mut(), icmp::v4::ECHO_REQUEST)?;
//! echo.set_seq(1);
//! echo.fill_checksum_v4();
//!
//! let packet = ringway_wire::parse(&frame);
//! assert_eq!(packet.malformed, None);
//! assert!(matches!(packet.transport, Some(Transport::Icmpv4(icmp)) if icmp.verify_checksum_v4()));
//! # Ok::<(), ringway_wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]

use std::{error, fmt};

pub use arp::{Arp, ArpOperation};
pub use ethernet::{EtherType, Ethernet, MacAddr, ParseMacError};
pub use icmp::{Icmp, IcmpEcho};
pub use ip::IpProtocol;
pub use ipv4::Ipv4;
pub use ipv6::{Ipv6, Ipv6Upper};
pub use parse::{MAX_VLAN_TAGS, Net, Packet, Transport, parse};
pub use tcp::{Tcp, TcpFlags};
pub use time::TimeOfDay;
pub use udp::Udp;
pub use vlan::Vlan;

mod arp;
mod bytes;
pub mod checksum;
mod ethernet;
pub mod icmp;
mod ip;
mod ipv4;
mod ipv6;
pub mod offload;
mod parse;
pub mod pcapfile;
mod summary;
mod tcp;
#[cfg(test)]
mod tests;
mod time;
mod udp;
mod vlan;

/// Why bytes are not a header this crate can show: one fault, one variant.
///
/// `...Truncated` means that the buffer ends before the header or before the length its header states; the
/// other variants mean that a field has a value it must not have.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Malformed, Udp};
///
/// let why = Udp::new_checked(&[0; 7]).unwrap_err();
/// assert_eq!(why, Malformed::UdpTruncated);
/// assert_eq!(why.name(), "udp_truncated");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Malformed {
    /// Fewer than 14 bytes of Ethernet header.
    EthernetTruncated,
    /// Fewer than 4 bytes after a VLAN tag protocol identifier.
    VlanTruncated,
    /// More than [`MAX_VLAN_TAGS`] tags in a row.
    VlanTooMany,
    /// Fewer than 28 bytes of ARP.
    ArpTruncated,
    /// ARP for something else than IPv4 over Ethernet.
    ArpUnsupported,
    /// The buffer ends before the IPv4 header or its total length.
    Ipv4Truncated,
    /// The version field is not 4.
    Ipv4Version,
    /// The IPv4 header length is below 20 bytes, or not expressible when building.
    Ipv4HeaderLength,
    /// The IPv4 total length is below the header length, or above 65,535 when building.
    Ipv4TotalLength,
    /// The buffer ends before the IPv6 header or its payload length.
    Ipv6Truncated,
    /// The version field is not 6.
    Ipv6Version,
    /// The IPv6 payload is above 65,535 bytes when building.
    Ipv6PayloadLength,
    /// An IPv6 extension header reaches past the payload.
    Ipv6ExtensionTruncated,
    /// More than [`Ipv6::MAX_EXTENSIONS`] extension headers.
    Ipv6TooManyExtensions,
    /// The buffer ends before the UDP header or its length.
    UdpTruncated,
    /// The UDP length is below 8, or above 65,535 when building.
    UdpLength,
    /// The buffer ends before the TCP header or its data offset.
    TcpTruncated,
    /// The TCP data offset is below 20 bytes, or not expressible when building.
    TcpHeaderLength,
    /// The buffer ends before the ICMP header.
    IcmpTruncated,
    /// The ICMP message is not an echo request or reply.
    IcmpNotEcho,
}

impl Malformed {
    /// Short stable name for a drop counter, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EthernetTruncated => "ethernet_truncated",
            Self::VlanTruncated => "vlan_truncated",
            Self::VlanTooMany => "vlan_too_many",
            Self::ArpTruncated => "arp_truncated",
            Self::ArpUnsupported => "arp_unsupported",
            Self::Ipv4Truncated => "ipv4_truncated",
            Self::Ipv4Version => "ipv4_version",
            Self::Ipv4HeaderLength => "ipv4_header_length",
            Self::Ipv4TotalLength => "ipv4_total_length",
            Self::Ipv6Truncated => "ipv6_truncated",
            Self::Ipv6Version => "ipv6_version",
            Self::Ipv6PayloadLength => "ipv6_payload_length",
            Self::Ipv6ExtensionTruncated => "ipv6_extension_truncated",
            Self::Ipv6TooManyExtensions => "ipv6_too_many_extensions",
            Self::UdpTruncated => "udp_truncated",
            Self::UdpLength => "udp_length",
            Self::TcpTruncated => "tcp_truncated",
            Self::TcpHeaderLength => "tcp_header_length",
            Self::IcmpTruncated => "icmp_truncated",
            Self::IcmpNotEcho => "icmp_not_echo",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed packet: ")?;
        f.write_str(self.name())
    }
}

impl error::Error for Malformed {}

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
