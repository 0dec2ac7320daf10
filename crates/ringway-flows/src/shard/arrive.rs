//! Frames arrive: to whom they go. Segments go on in `segments`.

use crate::code::{End, Transport};
use crate::machine::context::NO_ID;
use crate::transport::net::received::{Arrival, Body, Cause, Lost, Received};
use crate::transport::net::{Ports, Quick, Way};
use crate::transport::reassembly::Incoming;
use crate::transport::segment::{Segment, flag};
use crate::transport::stray;

use super::answers::Answered;
use super::back::Back;
use super::endpoint::{DATAGRAM, Tuple};
use super::run::Input;
use super::{Failure, Shard, Wire};

/// The longest frame, with the tag of a VLAN.
const MOST_BYTES: usize = 1518;

impl Shard {
    /// Takes a frame that came on the rings of a side. Answers go to `wire`.
    #[inline]
    pub fn receive(&mut self, side: End, frame: &[u8], now: u64, wire: &mut impl Wire) {
        self.tally.frames_in += 1;
        self.tally.bytes_in += frame.len() as u64;
        #[cfg(test)]
        if self.goes_long_way {
            return self.receive_any(side, frame, now, wire);
        }
        let Some(quick) = self.nets[side as usize].quick(frame) else {
            return self.receive_any(side, frame, now, wire);
        };
        let Quick { source, target, ports, ref segment, .. } = quick;
        let tuple =
            Tuple { local: target, remote: source, local_port: ports.target, remote_port: ports.source };
        if side == End::Client && self.measures() {
            self.measure_arrival(tuple, false, frame.len() as u64);
        }
        let (found, way) = (self.find(tuple, false), quick.back(&self.nets[side as usize]));
        if let Some(id) = found
            && let Some(acked) = self.take_plain(id, segment, now)
        {
            return self.after_plain(id, acked, segment.data, way.map(|way| (side, way)), now, wire);
        }
        let [_, _, from @ ..] = quick.from.to_be_bytes();
        let endpoint = found.unwrap_or(NO_ID);
        self.back = way.map(|way| Back { endpoint, side, way });
        self.segment_of(found, (side, tuple, from), segment, now, wire);
        self.back = None;
    }

    /// Takes a frame that is no segment, or not of the most frequent form.
    #[inline(never)]
    fn receive_any(&mut self, side: End, frame: &[u8], now: u64, wire: &mut impl Wire) {
        match self.nets[side as usize].parse_any(frame) {
            Ok(Received::Arrival(arrival)) => {
                if side == End::Client && self.measures() {
                    self.measure_any(&arrival, frame.len() as u64);
                }
                self.arrive(side, &arrival, now, wire);
            }
            Ok(Received::Control(control)) => {
                let net = &mut self.nets[side as usize];
                if wire.room(side) > 0 {
                    wire.send(side, |out| self.tally.sent(net.control(&control, out)));
                } else {
                    // What it tells counts. Its sender gets no answer, and asks again.
                    let answer = net.control(&control, &mut [0; MOST_BYTES]);
                    self.tally.unsent_answers += u64::from(answer > 0);
                }
                self.news |= self.nets[side as usize].take_news();
            }
            Err(_) => {} // the network counts it
        }
    }

    fn arrive(&mut self, side: End, arrival: &Arrival<'_>, now: u64, wire: &mut impl Wire) {
        let tuple = |local_port, remote_port| Tuple {
            local: arrival.target,
            remote: arrival.source,
            local_port,
            remote_port,
        };
        match &arrival.body {
            Body::Tcp(ports, segment) => {
                self.segment((side, tuple(ports.target, ports.source), arrival.from), segment, now, wire);
            }
            Body::Udp(ports, data) => {
                self.datagram(side, tuple(ports.target, ports.source), data, now, wire);
            }
            Body::Unreachable(lost, cause) => {
                if let Some(id) =
                    self.find(tuple(lost.near_port, lost.far_port), lost.transport == Transport::Udp)
                {
                    self.lost(id, lost, *cause, now, wire);
                } else {
                    self.tally.stray(side, Answered::Unreachable);
                }
            }
            Body::EchoReply => self.tally.stray(side, Answered::Echo),
        }
    }

    /// A datagram: for a connection, or for a service.
    fn datagram(&mut self, side: End, tuple: Tuple, data: &[u8], now: u64, wire: &mut impl Wire) {
        let found = self.find(tuple, true).or_else(|| self.listened(tuple, true));
        let Some(id) = found.or_else(|| self.serve(side, tuple, true, 0, now)) else {
            if self.is_served(side, tuple, true) {
                self.tally.no_room += 1;
            } else {
                self.tally.stray(side, Answered::Datagram);
            }
            return;
        };
        let owner = self.endpoints[id].owner;
        if owner.is_nobody() {
            self.tally.stray(side, Answered::Datagram);
            return;
        }
        let mut input = Input { slot: owner.slot(), data };
        if self.endpoints[id].incoming != NO_ID {
            self.keep_datagram(id, data);
            input.data = &[];
        }
        let is_there = self.wake_for(id, &mut input, now, wire);
        if !input.data.is_empty() && is_there && self.belongs(id, owner) {
            self.keep_datagram(id, input.data);
        }
        self.flush_touched(now, wire);
    }

    /// A packet of a connection was lost, as a message of ICMP says. TCP believes it of a connection that is being opened; later it waits for
    /// its own timers (RFC 5461).
    #[cold]
    fn lost(&mut self, id: u32, lost: &Lost, cause: Cause, now: u64, wire: &mut impl Wire) {
        let record = &self.endpoints[id];
        let is_ours = record.owner.is_udp() || lost.seq.wrapping_sub(record.tcp.una) < 1 << 30;
        let begins = record.owner.is_udp() || !record.tcp.state.is_synchronized();
        match cause {
            Cause::TooBig { mtu } if is_ours && !record.owner.is_udp() => {
                let headers = if self.nets[0].hosts().is_v4(record.tuple.local) { 40 } else { 60 };
                let tcp = &mut self.endpoints[id].tcp;
                tcp.mss = tcp.mss.min((mtu.saturating_sub(headers)).clamp(64, 0xffff) as u16);
            }
            Cause::Port | Cause::Protocol | Cause::Host | Cause::Prohibited if is_ours && begins => {
                self.fail_endpoint(id, Failure::Unreachable, now, wire);
            }
            _ => {}
        }
    }

    /// Keeps a datagram that the program has not asked for. Each has numbers of its own, with a gap behind them.
    #[cold]
    fn keep_datagram(&mut self, id: u32, data: &[u8]) {
        let Self { endpoints, incoming, blocks, tally, .. } = self;
        let record = &mut endpoints[id];
        if record.incoming == NO_ID {
            let Some(new) = incoming.take() else {
                tally.no_room += 1;
                return;
            };
            incoming[new].records = Incoming::default();
            record.incoming = new;
        }
        let seq = record.tcp.expected;
        if incoming[record.incoming].records.store(seq, data, blocks) > 0 {
            tally.no_room += 1;
        }
        record.tcp.expected = seq.wrapping_add(DATAGRAM);
    }

    /// A segment for nobody.
    #[cold]
    pub(super) fn stray(
        &mut self,
        side: End,
        tuple: Tuple,
        from: [u8; 6],
        segment: &Segment<'_>,
        wire: &mut impl Wire,
    ) {
        if segment.has(flag::SYN) && self.is_served(side, tuple, false) {
            // It finds room when it comes again.
            self.tally.no_room += 1;
            return;
        }
        self.tally.stray(side, Answered::of(segment));
        if self.silent && side == End::Client {
            return;
        }
        let Some(answer) = stray::answer(segment, &self.settings) else { return };
        let way = Way { from: tuple.local, to: tuple.remote, mac: from };
        let ports = Ports { source: tuple.local_port, target: tuple.remote_port };
        self.send_alone(side, way, ports, &answer, wire);
    }
}
