//! One pass over a frame, outermost header first.

use super::{Arp, EtherType, Ethernet, Icmp, IpProtocol, Ipv4, Ipv6, Malformed, Tcp, Udp, Vlan};

/// VLAN tags that [`parse`] is willing to walk.
pub const MAX_VLAN_TAGS: usize = 4;

/// Recognises the headers of an Ethernet frame.
///
/// Never fails and never panics: a malformed header ends the walk, and what was recognised before it stays.
/// Checksums are not verified.
///
/// # Examples
///
/// ```
/// use ringway_wire::{Malformed, Net};
///
/// // An IPv4 header that promises more than the frame has.
/// let mut frame = [0; 34];
/// frame[12..18].copy_from_slice(&[0x08, 0x00, 0x45, 0, 0, 100]);
///
/// let packet = ringway_wire::parse(&frame);
/// assert!(packet.ethernet.is_some() && packet.net.is_none());
/// assert_eq!(packet.malformed, Some(Malformed::Ipv4Truncated));
/// assert_eq!(packet.payload.len(), 20);
/// ```
#[inline]
pub fn parse(frame: &[u8]) -> Packet<'_> {
    let mut packet = Packet::unrecognised(frame);
    packet.malformed = packet.walk().err();
    packet
}

/// The recognised headers of a frame, as views into it.
///
/// An absent layer with `malformed` empty means that its protocol is not handled here: `ethertype` and
/// `protocol` then say what it is. `Display` gives a summary in one line.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// Link layer; absent only in a frame below 14 bytes.
    pub ethernet: Option<Ethernet<&'a [u8]>>,
    /// Type of what follows the link layer and its VLAN tags.
    pub ethertype: Option<EtherType>,
    /// Network layer.
    pub net: Option<Net<'a>>,
    /// Protocol of what follows the network layer, behind IPv6 extension headers.
    pub protocol: Option<IpProtocol>,
    /// Whether the network layer carries a fragment; its transport layer is not looked at, even in the first.
    pub is_fragment: bool,
    /// Transport layer.
    pub transport: Option<Transport<'a>>,
    /// What follows the innermost recognised header, without padding behind an IP packet.
    pub payload: &'a [u8],
    /// Why the walk stopped early.
    pub malformed: Option<Malformed>,
    /// Where the network layer starts (or would start) in the frame, in bytes.
    pub net_offset: usize,
    /// Where the transport layer starts (or would start) in the frame, in bytes; 0 without a network layer
    /// that leads to one.
    pub transport_offset: usize,
    vlan_tags: &'a [u8],
}

/// Network layer of a [`Packet`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Net<'a> {
    /// Address resolution; has no transport layer.
    Arp(Arp<&'a [u8]>),
    /// IPv4.
    Ipv4(Ipv4<&'a [u8]>),
    /// IPv6.
    Ipv6(Ipv6<&'a [u8]>),
}

/// Transport layer of a [`Packet`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Transport<'a> {
    /// UDP.
    Udp(Udp<&'a [u8]>),
    /// TCP.
    Tcp(Tcp<&'a [u8]>),
    /// ICMP for IPv4.
    Icmpv4(Icmp<&'a [u8]>),
    /// ICMP for IPv6.
    Icmpv6(Icmp<&'a [u8]>),
}

impl<'a> Packet<'a> {
    /// VLAN tags, outermost first.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut frame = [0; 60];
    /// frame[12..22].copy_from_slice(&[0x88, 0xa8, 0, 7, 0x81, 0x00, 0, 9, 0x88, 0xcc]);
    /// let packet = ringway_wire::parse(&frame);
    /// assert!(packet.vlans().map(|tag| tag.vid()).eq([7, 9]));
    /// ```
    #[inline]
    pub fn vlans(&self) -> impl Iterator<Item = Vlan<&'a [u8]>> + use<'a> {
        self.vlan_tags.chunks_exact(TAG_LEN).flat_map(Vlan::new_checked)
    }

    #[inline]
    fn unrecognised(frame: &'a [u8]) -> Self {
        Self {
            ethernet: None,
            ethertype: None,
            net: None,
            protocol: None,
            is_fragment: false,
            transport: None,
            payload: frame,
            malformed: None,
            net_offset: 0,
            transport_offset: 0,
            vlan_tags: &[],
        }
    }

    #[inline]
    fn walk(&mut self) -> Result<(), Malformed> {
        let ethertype = self.link()?;
        let Some(protocol) = self.network(ethertype)? else { return Ok(()) };
        self.protocol = Some(protocol);
        if self.is_fragment { Ok(()) } else { self.transport(protocol) }
    }

    /// Takes the Ethernet header and VLAN tags off the payload.
    #[inline]
    fn link(&mut self) -> Result<EtherType, Malformed> {
        let eth = Ethernet::new_checked(self.payload)?;
        let tags = eth.into_payload();
        let mut ethertype = eth.ethertype();
        self.ethernet = Some(eth);
        self.enter(tags, 0, ethertype);
        while ethertype.is_vlan() {
            if self.vlan_tags.len() == MAX_VLAN_TAGS * TAG_LEN {
                return Err(Malformed::VlanTooMany);
            }
            ethertype = Vlan::new_checked(self.payload)?.ethertype();
            self.enter(tags, self.vlan_tags.len() + TAG_LEN, ethertype);
        }
        Ok(ethertype)
    }

    /// Notes that `ethertype` follows the first `tags_len` bytes of `after_ethernet`, which are VLAN tags.
    #[inline]
    fn enter(&mut self, after_ethernet: &'a [u8], tags_len: usize, ethertype: EtherType) {
        (self.vlan_tags, self.payload) = after_ethernet.split_at(tags_len);
        self.net_offset = Ethernet::<&[u8]>::HEADER_LEN + tags_len;
        self.ethertype = Some(ethertype);
    }

    /// Takes the network header off the payload and returns the protocol behind it.
    #[inline]
    fn network(&mut self, ethertype: EtherType) -> Result<Option<IpProtocol>, Malformed> {
        match ethertype {
            EtherType::IPV4 => self.ipv4().map(Some),
            EtherType::IPV6 => self.ipv6().map(Some),
            EtherType::ARP => self.arp().map(|()| None),
            _ => Ok(None),
        }
    }

    #[inline]
    fn arp(&mut self) -> Result<(), Malformed> {
        let arp = Arp::new_checked(self.payload)?;
        self.net = Some(Net::Arp(arp));
        self.payload = arp.into_padding();
        Ok(())
    }

    #[inline]
    fn ipv4(&mut self) -> Result<IpProtocol, Malformed> {
        let ip = Ipv4::new_checked(self.payload)?;
        self.net = Some(Net::Ipv4(ip));
        self.payload = ip.into_payload();
        self.is_fragment = ip.is_fragment();
        self.transport_offset = self.net_offset + ip.header_len();
        Ok(ip.protocol())
    }

    #[inline]
    fn ipv6(&mut self) -> Result<IpProtocol, Malformed> {
        let ip = Ipv6::new_checked(self.payload)?;
        self.net = Some(Net::Ipv6(ip));
        self.payload = ip.into_payload();
        let upper = ip.upper_layer()?;
        self.payload = &self.payload[upper.offset..];
        self.is_fragment = upper.is_fragment;
        self.transport_offset = self.net_offset + Ipv6::<&[u8]>::HEADER_LEN + upper.offset;
        Ok(upper.protocol)
    }

    /// Takes the transport header off the payload. ICMP counts only in the IP version it belongs to.
    #[inline]
    fn transport(&mut self, protocol: IpProtocol) -> Result<(), Malformed> {
        let (transport, payload) = match (protocol, &self.net) {
            (IpProtocol::UDP, _) => {
                let udp = Udp::new_checked(self.payload)?;
                (Transport::Udp(udp), udp.into_payload())
            }
            (IpProtocol::TCP, _) => {
                let tcp = Tcp::new_checked(self.payload)?;
                (Transport::Tcp(tcp), tcp.into_payload())
            }
            (IpProtocol::ICMP, Some(Net::Ipv4(_))) => {
                let icmp = Icmp::new_checked(self.payload)?;
                (Transport::Icmpv4(icmp), icmp.into_payload())
            }
            (IpProtocol::ICMPV6, Some(Net::Ipv6(_))) => {
                let icmp = Icmp::new_checked(self.payload)?;
                (Transport::Icmpv6(icmp), icmp.into_payload())
            }
            _ => return Ok(()),
        };
        self.transport = Some(transport);
        self.payload = payload;
        Ok(())
    }
}

const TAG_LEN: usize = Vlan::<&[u8]>::HEADER_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ethertype_and_rest: &[u8]) -> Vec<u8> {
        [&[0; 12], ethertype_and_rest].concat()
    }

    fn ipv4(protocol: IpProtocol, fragment_offset: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = frame(&[0x08, 0x00]);
        bytes.resize(34 + payload.len(), 0);
        let mut ip = Ipv4::init(&mut bytes[14..], payload.len()).unwrap();
        ip.set_protocol(protocol);
        ip.set_fragment_offset(fragment_offset);
        ip.payload_mut().copy_from_slice(payload);
        bytes
    }

    fn ipv6(first: IpProtocol, payload: &[u8]) -> Vec<u8> {
        let mut bytes = frame(&[0x86, 0xdd]);
        bytes.resize(54 + payload.len(), 0);
        let mut ip = Ipv6::init(&mut bytes[14..], payload.len()).unwrap();
        ip.set_next_header(first);
        ip.payload_mut().copy_from_slice(payload);
        bytes
    }

    #[test]
    fn too_short_for_ethernet() {
        let packet = parse(&[1; 13]);
        assert!(packet.ethernet.is_none() && packet.ethertype.is_none());
        assert_eq!((packet.malformed, packet.payload.len()), (Some(Malformed::EthernetTruncated), 13));
    }

    #[test]
    fn unknown_ethertype_is_not_an_error() {
        let bytes = frame(&[0x88, 0xcc, 1, 2, 3]);
        let packet = parse(&bytes);
        assert_eq!((packet.ethertype, packet.malformed), (Some(EtherType::LLDP), None));
        assert_eq!((packet.payload, packet.net_offset), (&[1, 2, 3][..], 14));
    }

    #[test]
    fn vlan_tags_up_to_the_limit() {
        let tag = [0x81, 0x00, 0x00, 0x07];
        for count in 0..=MAX_VLAN_TAGS {
            let bytes = frame(&[tag.repeat(count), vec![0x88, 0xcc, 9]].concat());
            let packet = parse(&bytes);
            assert_eq!((packet.vlans().count(), packet.malformed), (count, None));
            assert!(packet.vlans().all(|tag| tag.vid() == 7));
            assert_eq!((packet.payload, packet.net_offset), (&[9][..], 14 + 4 * count));
        }
        let bytes = frame(&tag.repeat(MAX_VLAN_TAGS + 2));
        let packet = parse(&bytes);
        assert_eq!((packet.vlans().count(), packet.malformed), (MAX_VLAN_TAGS, Some(Malformed::VlanTooMany)));
    }

    #[test]
    fn tag_cut_short() {
        let bytes = frame(&[0x81, 0x00, 0x00, 0x07, 0x08]);
        let packet = parse(&bytes);
        assert_eq!(
            (packet.malformed, packet.ethertype),
            (Some(Malformed::VlanTruncated), Some(EtherType::VLAN))
        );
    }

    #[test]
    fn ipv4_options_and_padding_are_left_out() {
        let mut bytes = frame(&[0x08, 0x00]);
        bytes.resize(60, 0xee);
        let mut ip = Ipv4::init_with_options(&mut bytes[14..], 8, 10).unwrap();
        ip.set_protocol(IpProtocol::UDP);
        Udp::init(ip.payload_mut(), 2).unwrap();
        let packet = parse(&bytes);
        assert!(matches!(packet.transport, Some(Transport::Udp(_))));
        assert_eq!((packet.transport_offset, packet.payload), (14 + 28, &[0xee; 2][..]));
    }

    #[test]
    fn fragments_keep_their_payload() {
        let bytes = ipv4(IpProtocol::UDP, 8, &[1; 6]);
        let packet = parse(&bytes);
        assert!(packet.is_fragment && packet.transport.is_none() && packet.malformed.is_none());
        assert_eq!((packet.protocol, packet.payload), (Some(IpProtocol::UDP), &[1; 6][..]));
    }

    #[test]
    fn transport_errors_keep_the_network_layer() {
        for (protocol, why) in [
            (IpProtocol::UDP, Malformed::UdpTruncated),
            (IpProtocol::TCP, Malformed::TcpTruncated),
            (IpProtocol::ICMP, Malformed::IcmpTruncated),
        ] {
            let bytes = ipv4(protocol, 0, &[0; 3]);
            let packet = parse(&bytes);
            assert!(matches!(packet.net, Some(Net::Ipv4(_))) && packet.transport.is_none());
            assert_eq!(
                (packet.malformed, packet.payload, packet.transport_offset),
                (Some(why), &[0; 3][..], 34)
            );
        }
    }

    #[test]
    fn extension_headers_are_skipped() {
        let mut payload = vec![58, 0, 5, 2, 0, 0, 1, 0]; // hop-by-hop with router alert
        payload.extend([131, 0, 0, 0, 0, 0, 0, 0]); // listener report
        let bytes = ipv6(IpProtocol::HOP_BY_HOP, &payload);
        let packet = parse(&bytes);
        assert!(matches!(packet.transport, Some(Transport::Icmpv6(icmp)) if icmp.msg_type() == 131));
        assert_eq!((packet.transport_offset, packet.payload.len()), (14 + 40 + 8, 4));

        let bytes = ipv6(IpProtocol::HOP_BY_HOP, &payload[..7]);
        let packet = parse(&bytes);
        assert!(matches!(packet.net, Some(Net::Ipv6(_))) && packet.protocol.is_none());
        assert_eq!((packet.malformed, packet.payload.len()), (Some(Malformed::Ipv6ExtensionTruncated), 7));
    }

    #[test]
    fn icmp_of_the_other_family_is_unknown() {
        for bytes in [ipv4(IpProtocol::ICMPV6, 0, &[0; 8]), ipv6(IpProtocol::ICMP, &[0; 8])] {
            let packet = parse(&bytes);
            assert!(packet.transport.is_none() && packet.malformed.is_none() && packet.protocol.is_some());
        }
    }
}
