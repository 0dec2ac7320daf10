//! What passes between neighbours: answers for emulated hosts, and questions for the hardware addresses of others.

use std::net::IpAddr;

use super::Net;
use super::hosts::HostId;
use super::neighbours::{Neighbour, Resolution};
use super::received::{Control, Lesson};
use super::{arp, icmp, ndp};

impl Net {
    /// Takes in a message, and writes the answer if it needs one: the length of that frame, else 0.
    ///
    /// An answer that is too long for the buffer is left out.
    pub(crate) fn control(&mut self, message: &Control<'_>, out: &mut [u8]) -> usize {
        let (learns, answer) = match message {
            Control::Arp(message) => (message.teaches, arp::answer(self, message, out)),
            Control::Solicitation(message) => (message.teaches, ndp::answer(self, message, out)),
            Control::Advertisement(message) => (Some(message.teaches), None),
            Control::Echo(echo) => (None, icmp::answer(self, echo, out)),
        };
        if let Some(Lesson { who, mac, replaces }) = learns {
            self.has_news |= self.neighbours.learn(who, mac, replaces);
        }
        answer.unwrap_or(0)
    }

    /// The hardware address that leads from a host of this side to one of the far side. Without one, [`question`](Self::question) has
    /// something to send.
    #[inline]
    pub(crate) fn resolve(&mut self, from: HostId, to: HostId, now: u64) -> Resolution {
        let who = self.next_hop(from, to);
        self.neighbours.resolve(who, from, now)
    }

    /// The hardware address that leads there, if it is known.
    pub(crate) fn known(&self, from: HostId, to: HostId) -> Option<[u8; 6]> {
        self.neighbours.known(self.next_hop(from, to))
    }

    /// Writes the next question that is due at `now`: the length of the frame, or 0 when there is none. To be called until then.
    ///
    /// A question for which the buffer is too short counts as sent.
    pub(crate) fn question(&mut self, now: u64, out: &mut [u8]) -> usize {
        let Some((who, from)) = self.neighbours.question(now) else { return 0 };
        let asked = match who {
            Neighbour::Host(host) => Some(self.hosts.address(host)),
            Neighbour::Gateway { is_v4: true, .. } => self.gateway.v4.map(IpAddr::from),
            Neighbour::Gateway { is_v4: false, .. } => self.gateway.v6.map(IpAddr::from),
        };
        let from = self.hosts.host(from);
        let frame = match (asked, from.address()) {
            (Some(IpAddr::V4(asked)), IpAddr::V4(source)) => arp::ask(self, from, source, asked, out),
            (Some(IpAddr::V6(asked)), IpAddr::V6(source)) => ndp::ask(self, from, source, asked, out),
            _ => None,
        };
        frame.unwrap_or(0)
    }

    /// When [`question`](Self::question) has something to do. It also ends the time of unreachable neighbours.
    pub(crate) fn question_due(&self) -> Option<u64> {
        self.neighbours.due()
    }

    /// Whether a hardware address came to be known since the last call: flows that wait for one can try again.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Learns from traffic of a host of the far side, unless a gateway stands before it.
    pub(super) fn heard(&mut self, source: HostId, mac: [u8; 6]) {
        if !self.neighbours.knows(source, mac) && self.gateway(source).is_none() {
            self.has_news |= self.neighbours.learn(Neighbour::Host(source), mac, true);
        }
    }

    #[inline]
    fn next_hop(&self, from: HostId, to: HostId) -> Neighbour {
        self.gateway(to).map_or(Neighbour::Host(to), |is_v4| Neighbour::Gateway {
            is_v4,
            vlan: self.hosts.host(from).vlan(),
        })
    }

    /// The family of a host that a gateway leads to.
    #[inline]
    fn gateway(&self, to: HostId) -> Option<bool> {
        if self.gateway.is_none() {
            return None;
        }
        let (v4, v6) = (self.gateway.v4.is_some(), self.gateway.v6.is_some());
        let is_v4 = self.hosts.is_v4(to);
        (if is_v4 { v4 } else { v6 }).then_some(is_v4)
    }
}
