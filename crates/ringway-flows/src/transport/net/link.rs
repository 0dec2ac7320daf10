//! The link under IP packets: whether a frame is for a host, and from where.

use std::net::IpAddr;

use ringway_wire::{EtherType, Ethernet, MacAddr, Vlan};

use super::Net;
use super::hosts::Host;
use super::neighbours::Neighbour;
use super::received::{Arrival, Body, Received};
use super::refused::Refused;

/// The Ethernet header and VLAN tag of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) to: [u8; 6],
    pub(super) from: [u8; 6],
    /// 0 without tag.
    pub(super) vlan: u16,
}

/// An IP packet without its header.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a, A> {
    pub(super) link: Link,
    pub(super) source: A,
    pub(super) target: A,
    pub(super) bytes: &'a [u8],
}

impl Link {
    /// Whether a frame goes to a host, or to a group.
    pub(super) fn reaches(&self, host: &Host<'_>, own: [u8; 6]) -> Result<(), Refused> {
        if MacAddr(self.to).is_multicast() || self.to == host.mac(own) {
            Ok(())
        } else {
            Err(Refused::WrongMac)
        }
    }

    /// Takes the Ethernet header and one VLAN tag off a frame. A tag of VLAN 0 has only a priority.
    #[inline]
    pub(super) fn read(frame: &[u8]) -> Result<(Self, EtherType, &[u8]), Refused> {
        let ethernet = Ethernet::new_checked(frame)?;
        let link = Self { to: ethernet.dst().0, from: ethernet.src().0, vlan: 0 };
        if !ethernet.src().is_unicast() {
            return Err(Refused::Malformed);
        }
        if ethernet.ethertype() != EtherType::VLAN {
            return Ok((link, ethernet.ethertype(), ethernet.into_payload()));
        }
        let tag = Vlan::new_checked(ethernet.into_payload())?;
        Ok((Self { vlan: tag.vid(), ..link }, tag.ethertype(), tag.into_payload()))
    }
}

impl Net {
    /// The host of this side to which an IP packet goes, if the frame goes to it too.
    #[inline(always)]
    pub(super) fn addressed<'h>(&self, link: &Link, found: Option<Host<'h>>) -> Result<Host<'h>, Refused> {
        let target = self.near(found).ok_or(Refused::NotForUs)?;
        if link.to != target.mac(self.mac) {
            return Err(Refused::WrongMac);
        }
        self.same_vlan(link, &target)?;
        Ok(target)
    }

    /// Whether a frame came in the VLAN of a host.
    #[inline]
    pub(super) fn same_vlan(&self, link: &Link, host: &Host<'_>) -> Result<(), Refused> {
        if link.vlan == host.vlan() { Ok(()) } else { Err(Refused::WrongVlan) }
    }

    #[inline(always)]
    pub(super) fn arrival<'a>(
        &self,
        link: Link,
        source: Option<Host<'_>>,
        target: Host<'_>,
        body: Body<'a>,
    ) -> Result<Received<'a>, Refused> {
        let source = source.ok_or(Refused::UnknownSource)?.id();
        Ok(Received::Arrival(Arrival { source, target: target.id(), from: link.from, body }))
    }

    /// The neighbour that has an address: a host of the far side, or the gateway if there is one.
    pub(super) fn neighbour(&self, address: IpAddr, vlan: u16) -> Option<Neighbour> {
        let gateway = match address {
            IpAddr::V4(_) => self.gateway.v4.map(IpAddr::from),
            IpAddr::V6(_) => self.gateway.v6.map(IpAddr::from),
        };
        match gateway {
            Some(gateway) => {
                (gateway == address).then_some(Neighbour::Gateway { is_v4: address.is_ipv4(), vlan })
            }
            None => self.far(self.hosts.at(address)).map(|host| Neighbour::Host(host.id())),
        }
    }
}
