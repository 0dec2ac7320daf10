//! Frames arrive.

use crate::code::{End, Op, Transport};
use crate::machine::context::NO_ID;
use crate::transport::arrival::keep;
use crate::transport::input::{Now, Outcome, Over, input};
use crate::transport::net::received::{Arrival, Body, Cause, Lost, Received};
use crate::transport::net::{Ports, Way};
use crate::transport::reassembly::Incoming;
use crate::transport::segment::{Segment, flag};
use crate::transport::stray;

use super::answers::Answered;
use super::endpoint::{DATAGRAM, Owner, Tuple, room, settings_of};
use super::finish::free;
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
        match self.nets[side as usize].quick(frame) {
            Some(Arrival { source, target, from, body: Body::Tcp(ports, segment) }) => {
                let tuple = Tuple {
                    local: target,
                    remote: source,
                    local_port: ports.target,
                    remote_port: ports.source,
                };
                if side == End::Client && self.measures() {
                    self.measure_arrival(tuple, false, frame.len() as u64);
                }
                self.segment(side, tuple, from, &segment, now, wire);
            }
            _ => self.receive_any(side, frame, now, wire),
        }
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
                self.segment(side, tuple(ports.target, ports.source), arrival.from, segment, now, wire);
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

    #[inline]
    fn segment(
        &mut self,
        side: End,
        tuple: Tuple,
        from: [u8; 6],
        segment: &Segment<'_>,
        now: u64,
        wire: &mut impl Wire,
    ) {
        let Some(id) = self.find(tuple, false) else {
            // A new connection has taken all that its SYN says.
            return match self.passive(side, tuple, segment, now) {
                Some(id) => {
                    self.half_opened(id, now, wire);
                    self.flush_touched(now, wire);
                }
                None => self.stray(side, tuple, from, segment, wire),
            };
        };
        let outcome = self.take_segment(id, segment, now);
        if let Some(Over::Reopened) = outcome.over {
            self.end_connection(id, Over::Closed, now, wire);
            return self.segment(side, tuple, from, segment, now, wire);
        }
        self.after(id, outcome, now, wire);
    }

    /// TCP takes a segment. Blocks all of whose bytes were acknowledged are free.
    #[inline(always)]
    fn take_segment<'a>(&mut self, id: u32, segment: &Segment<'a>, now: u64) -> Outcome<'a> {
        let Self { endpoints, backlog, queues, incoming, blocks, settings, narrow, contexts, .. } = self;
        let endpoint = &mut endpoints[id];
        let before = endpoint.tcp.state;
        let settings = settings_of(endpoint, settings, narrow, contexts);
        let room = room(endpoint, incoming, settings);
        let queue = (endpoint.queue != NO_ID).then(|| &mut queues[endpoint.queue].queue);
        let now = Now { settings, ns: now, room };
        let outcome = input(&mut endpoint.tcp, queue, segment, now, |piece| free(blocks, piece));
        if !before.is_synchronized() {
            backlog.changed(before, endpoint.tcp.state);
        }
        outcome
    }

    /// Gives the program what a segment brought, and sends what is due.
    #[inline(always)]
    fn after(&mut self, id: u32, mut outcome: Outcome<'_>, now: u64, wire: &mut impl Wire) {
        if let Some(oddity) = outcome.oddity {
            self.tally.odd(oddity);
        }
        if let Some(reset) = outcome.reset {
            self.send_reset(id, reset, wire);
        }
        let owner = self.endpoints[id].owner;
        let mut input = Input { slot: owner.slot(), data: outcome.data };
        if outcome.early.is_some() || self.endpoints[id].incoming != NO_ID && !input.data.is_empty() {
            // Bytes wait already, or some before these are missing: the program takes them from there.
            input.data = &[];
            if !self.keep(id, &mut outcome, 0, now) {
                return self.fail_endpoint(id, Failure::NoMemory, now, wire);
            }
        }
        if !owner.is_nobody() && self.concerns(owner, &outcome) {
            self.watched = id;
            self.wake_at_once(owner.context(), &mut input, now, wire);
            if self.watched != id {
                // The program closed the connection, or failed.
                return self.flush_touched(now, wire);
            }
            if !input.data.is_empty() && self.belongs(id, owner) {
                let eaten = outcome.data.len() - input.data.len();
                if !self.keep(id, &mut outcome, eaten, now) {
                    return self.fail_endpoint(id, Failure::NoMemory, now, wire);
                }
            }
        }
        match outcome.over {
            Some(how) => {
                // The last acknowledgement goes before the connection does.
                self.flush(id, now, wire);
                self.end_connection(id, how, now, wire);
            }
            None => {
                self.touched.pop_if(|last| *last == id);
                self.flush(id, now, wire);
            }
        }
        self.flush_touched(now, wire);
    }

    /// Whether a program may have to do something. Acknowledgements alone matter to one that waits for room in a queue, or to reset.
    #[inline]
    fn concerns(&self, owner: Owner, outcome: &Outcome<'_>) -> bool {
        let news = outcome.connected || outcome.fin || !outcome.data.is_empty();
        let waits = |op: Op| op.sends() || op == Op::Reset;
        news || outcome.acked
            && (waits(self.instruction(owner.context()).op) || self.has_branches(owner.context()))
    }

    /// Keeps bytes that the program has not taken; false when there is no memory, and bytes are lost.
    #[cold]
    fn keep(&mut self, id: u32, outcome: &mut Outcome<'_>, eaten: usize, now: u64) -> bool {
        let record = &mut self.endpoints[id];
        if record.incoming == NO_ID {
            let Some(incoming) = self.incoming.take() else {
                self.tally.no_room += 1;
                return outcome.early.is_some();
            };
            self.incoming[incoming].records = Incoming::default();
            record.incoming = incoming;
        }
        if outcome.early.is_some() {
            self.tally.early += 1;
        }
        let Self { endpoints, incoming, blocks, settings, tally, .. } = self;
        let record = &mut endpoints[id];
        let incoming = &mut incoming[record.incoming].records;
        let now = Now { settings, ns: now, room: settings.window };
        let kept = keep(&mut record.tcp, incoming, outcome, eaten, now, blocks);
        tally.no_room += u64::from(kept.dropped > 0);
        !kept.lost
    }

    /// Whether an endpoint is still the one that it was before a program ran.
    pub(super) fn belongs(&self, id: u32, owner: Owner) -> bool {
        self.endpoints.get(id).is_some_and(|endpoint| endpoint.owner == owner)
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
    fn stray(&mut self, side: End, tuple: Tuple, from: [u8; 6], segment: &Segment<'_>, wire: &mut impl Wire) {
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
