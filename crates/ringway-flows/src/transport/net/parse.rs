//! Received frames: every check between the wire and a flow.

use ringway_wire::{Arp, EtherType, IpProtocol, Ipv4, Ipv6, MacAddr};

use super::hosts::HostId;
use super::link::{Link, Packet};
use super::quick::{self, Quick};
use super::received::{Arrival, Body, Received};
use super::refused::Refused;
use super::{Net, Ports, arp, icmp, ndp, segment};

impl Net {
    /// Reads a frame the way that takes it.
    #[cfg(test)]
    pub(crate) fn parse<'a>(&mut self, frame: &'a [u8]) -> Result<Received<'a>, Refused> {
        self.quick(frame)
            .map_or_else(|| self.parse_any(frame), |quick| Ok(Received::Arrival(quick.arrival())))
    }

    /// Reads a segment of the most frequent form. `None` for any other frame, which [`parse_any`](Self::parse_any) takes.
    #[inline(always)]
    pub(crate) fn quick<'a>(&mut self, frame: &'a [u8]) -> Option<Quick<'a>> {
        let quick = quick::segment(self, frame)?;
        if !quick.is_known {
            self.heard(quick.source, MacAddr::from_u64(quick.from).0);
        }
        Some(quick)
    }

    /// The hosts and ports of a frame, without any check: this side's host first. `None` for frames of rarer forms.
    #[inline(always)]
    pub(crate) fn glance(&self, frame: &[u8]) -> Option<(HostId, HostId, Ports)> {
        quick::glance(self, frame)
    }

    /// Reads any frame, and counts it when it is refused. Traffic of the far side teaches the hardware address of its sender.
    ///
    /// # Errors
    /// Why the frame goes no further.
    #[inline(never)]
    pub(crate) fn parse_any<'a>(&mut self, frame: &'a [u8]) -> Result<Received<'a>, Refused> {
        let received = self.read(frame);
        match received {
            Ok(Received::Arrival(Arrival { source, from, body: Body::Tcp(..) | Body::Udp(..), .. })) => {
                self.heard(source, from);
            }
            Ok(_) => {}
            Err(why) => self.refusals.add(why),
        }
        received
    }

    /// The long way, for any frame.
    #[inline(always)]
    pub(super) fn read<'a>(&self, frame: &'a [u8]) -> Result<Received<'a>, Refused> {
        let (link, ethertype, bytes) = Link::read(frame)?;
        match ethertype {
            EtherType::IPV4 => self.ipv4(link, bytes),
            EtherType::IPV6 => self.ipv6(link, bytes),
            EtherType::ARP => arp::read(self, link, Arp::new_checked(bytes)?),
            _ => Err(Refused::OtherProtocol),
        }
    }

    #[inline(always)]
    fn ipv4<'a>(&self, link: Link, bytes: &'a [u8]) -> Result<Received<'a>, Refused> {
        let ip = Ipv4::new_checked(bytes)?;
        if !ip.verify_checksum() {
            return Err(Refused::IpChecksum);
        }
        let target = self.addressed(&link, self.hosts.v4(ip.dst()))?;
        if ip.is_fragment() {
            return Err(Refused::Fragment);
        }
        let pseudo = ip.pseudo_header();
        let source = self.far(self.hosts.v4(ip.src()));
        match ip.protocol() {
            IpProtocol::TCP => self.arrival(link, source, target, segment::tcp(ip.into_payload(), pseudo)?),
            IpProtocol::UDP => self.arrival(link, source, target, segment::udp(ip.into_payload(), pseudo)?),
            IpProtocol::ICMP => icmp::v4(
                self,
                Packet { link, source: ip.src(), target: ip.dst(), bytes: ip.into_payload() },
                target,
            ),
            _ => Err(Refused::OtherProtocol),
        }
    }

    #[inline]
    fn ipv6<'a>(&self, link: Link, bytes: &'a [u8]) -> Result<Received<'a>, Refused> {
        let ip = Ipv6::new_checked(bytes)?;
        let found = self.hosts.v6(ip.dst());
        if ip.next_header() == IpProtocol::ICMPV6 && icmp::is_neighbour_discovery(ip.payload()) {
            return ndp::read(self, link, &ip);
        }
        let target = self.addressed(&link, found)?;
        let upper = ip.upper_layer()?;
        if upper.is_fragment {
            return Err(Refused::Fragment);
        }
        let pseudo = ip.pseudo_header();
        // The walk ended inside the payload.
        let bytes = &ip.into_payload()[upper.offset..];
        let source = self.far(self.hosts.v6(ip.src()));
        match upper.protocol {
            IpProtocol::TCP => self.arrival(link, source, target, segment::tcp(bytes, pseudo)?),
            IpProtocol::UDP => self.arrival(link, source, target, segment::udp(bytes, pseudo)?),
            IpProtocol::ICMPV6 => {
                icmp::v6(self, Packet { link, source: ip.src(), target: ip.dst(), bytes }, target, pseudo)
            }
            _ => Err(Refused::OtherProtocol),
        }
    }
}
