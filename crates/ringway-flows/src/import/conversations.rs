//! All conversations of a capture.

use std::collections::HashMap;
use std::net::IpAddr;

use super::frame::{Body, Frame, Segment};
use super::left::Notes;
use super::options::Options;
use super::talk::Talk;
use super::tcp::Tcp;
use super::udp::Udp;
use crate::code::{End, Transport};

/// Most conversations of a capture.
const MAX_TALKS: usize = 200_000;

/// A host and a port.
type Side = (IpAddr, u16);

/// One conversation, while its packets come.
#[derive(Debug)]
struct Open {
    client: Side,
    server: Side,
    first: u64,
    begin: u64,
    talk: Kind,
}

#[derive(Debug)]
enum Kind {
    Tcp(Box<Tcp>),
    Udp(Udp),
}

/// All conversations so far.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: Vec<Open>,
    /// The last one between two sides, the lower one in front.
    open: HashMap<(Transport, Side, Side), usize>,
}

impl Conversations {
    /// Takes a segment or datagram.
    pub(super) fn take(&mut self, number: u64, now: u64, frame: &Frame<'_>, notes: &mut Notes) {
        match &frame.body {
            Body::Tcp(segment) => self.segment(number, now, frame, segment, notes),
            Body::Udp(data) => {
                let Some(open) = self.of(Transport::Udp, number, now, frame, notes) else { return };
                let (end, v4) = (open.end_of(frame.from), frame.from.0.is_ipv4());
                if let Kind::Udp(udp) = &mut open.talk {
                    udp.take(end, data, v4, now);
                }
            }
        }
    }

    fn segment(
        &mut self,
        number: u64,
        now: u64,
        frame: &Frame<'_>,
        segment: &Segment<'_>,
        notes: &mut Notes,
    ) {
        let begins = segment.syn && !segment.ack;
        let key = key(Transport::Tcp, frame);
        let known = self.open.get(&key).and_then(|at| self.all.get(*at));
        let is_other = match known {
            Some(Open { client, talk: Kind::Tcp(tcp), .. }) => *client != frame.from || tcp.is_other(segment),
            _ => true,
        };
        if begins && is_other {
            self.open.remove(&key);
        } else if known.is_none() {
            return notes.packet(number, "its connection has no SYN in the capture");
        }
        let Some(open) = self.of(Transport::Tcp, number, now, frame, notes) else { return };
        let end = open.end_of(frame.from);
        if let Kind::Tcp(tcp) = &mut open.talk {
            if begins && is_other {
                **tcp = Tcp::new(segment);
            }
            tcp.take(end, segment, now);
        }
    }

    /// The conversation of a frame; a new one if there is none.
    fn of(
        &mut self,
        transport: Transport,
        number: u64,
        now: u64,
        frame: &Frame<'_>,
        notes: &mut Notes,
    ) -> Option<&mut Open> {
        let key = key(transport, frame);
        let at = match self.open.get(&key) {
            Some(at) => *at,
            None if self.all.len() >= MAX_TALKS => {
                notes.packet(number, "it is behind the first 200000 conversations");
                return None;
            }
            None => {
                let talk = match (&frame.body, transport) {
                    (Body::Tcp(segment), _) => Kind::Tcp(Box::new(Tcp::new(segment))),
                    _ => Kind::Udp(Udp::default()),
                };
                let (client, server) = (frame.from, frame.to);
                self.all.push(Open { client, server, first: number, begin: now, talk });
                self.open.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.all.get_mut(at)
    }

    /// What the conversations did.
    pub(super) fn finish(self, options: &Options, notes: &mut Notes) -> Vec<Talk> {
        let mut talks = Vec::new();
        for Open { client, server, first, begin, talk } in self.all {
            let (transport, done) = match talk {
                Kind::Tcp(tcp) => (Transport::Tcp, tcp.finish(first, begin, options, notes)),
                Kind::Udp(udp) => (Transport::Udp, udp.finish(first, notes)),
            };
            let Some((steps, thinks)) = done else { continue };
            let (port, client, server) = (server.1, client.0, server.0);
            talks.push(Talk { transport, port, first, begin, client, server, steps, thinks });
        }
        talks
    }
}

impl Open {
    fn end_of(&self, from: Side) -> End {
        if from == self.client { End::Client } else { End::Server }
    }
}

/// The same for both directions.
fn key(transport: Transport, frame: &Frame<'_>) -> (Transport, Side, Side) {
    let (low, high) = if frame.from < frame.to { (frame.from, frame.to) } else { (frame.to, frame.from) };
    (transport, low, high)
}
