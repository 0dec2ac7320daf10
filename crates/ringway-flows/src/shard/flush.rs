//! Segments go.

use ringway_wire::checksum::Sum;

use crate::code::End;
use crate::machine::context::NO_ID;
use crate::transport::conn::{State, mark};
use crate::transport::input::Now;
use crate::transport::net::neighbours::Resolution;
use crate::transport::net::{Net, Ports, QuickWay, Way};
use crate::transport::output::{abort, is_idle, output, probe};
use crate::transport::queue::Queue;
use crate::transport::segment::Outgoing;
use crate::transport::stray::reset;
use crate::transport::timer::due;

use super::endpoint::{Endpoint, Tuple, room, settings_of};
use super::sources::Sources;
use super::wire::has_room;
use super::{Failure, Shard, Tally, Wire};

/// What the segments of an endpoint are made with.
struct Outlet<'a> {
    record: &'a mut Endpoint,
    queue: Option<&'a mut Queue>,
    at: Now<'a>,
    net: &'a Net,
    ports: Ports,
    sources: Sources<'a>,
    tally: &'a mut Tally,
}

impl Shard {
    /// The side of an endpoint: that of the end which it belongs to.
    #[inline]
    fn side_of(&self, id: u32) -> End {
        let local = self.endpoints[id].tuple.local;
        if self.nets[End::Client as usize].is_near(local) { End::Client } else { End::Server }
    }

    /// The way that the frames of a connection take, if it is of the most frequent form.
    #[inline(always)]
    fn quick_way(&self, tuple: Tuple) -> Option<(End, QuickWay)> {
        let way = |side: End| Some((side, self.nets[side as usize].quick_way(tuple.local, tuple.remote)?));
        way(End::Client).or_else(|| way(End::Server))
    }

    /// Sends what instructions and segments left to be sent.
    #[inline]
    pub(super) fn flush_touched(&mut self, now: u64, wire: &mut impl Wire) {
        while let Some(id) = self.touched.pop() {
            self.flush(id, now, wire);
        }
    }

    /// An endpoint has something to send.
    #[inline]
    pub(super) fn touch(&mut self, id: u32) {
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
    }

    /// Sends the segments of an endpoint that may go, and arms its timer.
    #[inline]
    pub(super) fn flush(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let record = &self.endpoints[id];
        if record.tcp.state == State::Closed || record.owner.is_udp() {
            return;
        }
        let tuple = record.tuple;
        let queue = (record.queue != NO_ID).then(|| &self.queues[record.queue].queue);
        if !is_idle(&record.tcp, queue) {
            let (side, way, quick) = match self.quick_way(tuple) {
                Some((side, quick)) => {
                    (side, Way { from: tuple.local, to: tuple.remote, mac: quick.mac() }, Some(quick))
                }
                None => match self.way(id, tuple, now, wire) {
                    Some((side, way)) => (side, way, None),
                    None => return,
                },
            };
            let before = self.tally.bytes_out;
            self.send_all(id, side, (way, quick), now, wire);
            self.measure(side, id, self.tally.bytes_out - before);
        }
        self.after_sending(id, now);
    }

    /// The way of a connection's frames, whatever form they have. Without one, they wait for it, or the flow fails.
    #[inline(never)]
    fn way(&mut self, id: u32, tuple: Tuple, now: u64, wire: &mut impl Wire) -> Option<(End, Way)> {
        let side = self.side_of(id);
        match self.nets[side as usize].resolve(tuple.local, tuple.remote, now) {
            Resolution::Known(mac) => Some((side, Way { from: tuple.local, to: tuple.remote, mac })),
            Resolution::Asking => {
                self.asking.push_back(id);
                self.endpoints[id].tcp.set(mark::BLOCKED);
                None
            }
            Resolution::Unreachable => {
                self.fail_endpoint(id, Failure::Unreachable, now, wire);
                None
            }
        }
    }

    /// What the segments of an endpoint are made with.
    #[inline(always)]
    fn outlet(&mut self, id: u32, side: End, now: u64) -> Outlet<'_> {
        let Self { endpoints, queues, incoming, settings, narrow, contexts, nets, tally, .. } = self;
        let sources = Sources {
            bundle: &self.bundle,
            sums: &self.sums,
            contents: &self.contents,
            blocks: &self.blocks,
        };
        let record = &mut endpoints[id];
        let settings = settings_of(record, settings, narrow, contexts);
        let room = room(record, incoming, settings);
        let ports = Ports { source: record.tuple.local_port, target: record.tuple.remote_port };
        let queue = (record.queue != NO_ID).then(|| &mut queues[record.queue].queue);
        let at = Now { settings, ns: now, room };
        Outlet { record, queue, at, net: &nets[side as usize], ports, sources, tally }
    }

    /// Sends segment after segment, while TCP has one and the ring has a slot.
    #[inline(always)]
    fn send_all(
        &mut self,
        id: u32,
        side: End,
        (way, quick): (Way, Option<QuickWay>),
        now: u64,
        wire: &mut impl Wire,
    ) {
        let Outlet { record, mut queue, at, net, ports, sources, tally } = self.outlet(id, side, now);
        loop {
            if !has_room(wire, side) {
                record.tcp.set(mark::BLOCKED);
                break;
            }
            let Some(outgoing) = output(&mut record.tcp, queue.as_deref_mut(), at) else { break };
            let stream = queue.as_deref();
            wire.send(side, |out| {
                let payload = |data: &mut [u8]| match stream {
                    Some(queue) if !data.is_empty() => sources.fill(queue, outgoing.seq, data),
                    _ => Sum::new(),
                };
                tally.sent(match quick {
                    Some(quick) => net.quick_tcp(out, quick, ports, &outgoing, payload),
                    None => net.tcp(out, way, ports, &outgoing, payload),
                })
            });
            if is_idle(&record.tcp, queue.as_deref()) {
                break;
            }
        }
        if record.tcp.is(mark::BLOCKED) {
            self.block(id);
        }
    }

    /// Sends later: when a ring has a free slot.
    #[cold]
    fn block(&mut self, id: u32) {
        self.endpoints[id].tcp.set(mark::BLOCKED);
        self.blocked.push_back(id);
    }

    /// Gives an empty queue back, and arms the timer.
    #[inline(always)]
    fn after_sending(&mut self, id: u32, now: u64) {
        let record = &mut self.endpoints[id];
        if record.queue != NO_ID {
            let queue = &self.queues[record.queue].queue;
            let waits_for_fin = record.tcp.is(mark::FIN_QUEUED) && !record.tcp.is(mark::FIN_SENT);
            if record.tcp.una == queue.max && queue.left(record.tcp.next) == 0 && !waits_for_fin {
                let queue = std::mem::replace(&mut record.queue, NO_ID);
                self.queues.give(queue);
            }
        }
        let record = &self.endpoints[id];
        if !record.links.is_armed() || record.tcp.is(mark::ACK_OWED) && !record.tcp.is(mark::DELAYING) {
            let queue = (record.queue != NO_ID).then(|| &self.queues[record.queue].queue);
            if let Some(after) = due(&record.tcp, queue, &self.settings) {
                self.arm_endpoint(id, now + after);
            }
        }
    }

    /// Sends a segment for which there is no connection.
    pub(super) fn send_alone(
        &mut self,
        side: End,
        way: Way,
        ports: Ports,
        outgoing: &Outgoing,
        wire: &mut impl Wire,
    ) {
        if !has_room(wire, side) {
            return self.tally.unsent(outgoing);
        }
        let Self { nets, tally, .. } = self;
        wire.send(side, |out| {
            let len = nets[side as usize].tcp(out, way, ports, outgoing, |_| Sum::new());
            tally.sent(len)
        });
    }

    /// Sends the reset that a segment gets, if the way to its sender is known.
    pub(super) fn send_reset(&mut self, id: u32, number: (u32, Option<u32>), wire: &mut impl Wire) {
        self.send_last(id, &reset(number), wire);
    }

    /// Ends a connection at once. The peer gets a reset, where it needs one.
    pub(super) fn abort(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let Self { endpoints, backlog, queues, settings, narrow, contexts, .. } = self;
        let record = &mut endpoints[id];
        if record.owner.is_udp() {
            return;
        }
        let queue = (record.queue != NO_ID).then(|| &queues[record.queue].queue);
        let settings = settings_of(record, settings, narrow, contexts);
        let room = settings.window;
        backlog.changed(record.tcp.state, State::Closed);
        if let Some(outgoing) = abort(&mut record.tcp, queue, Now { settings, ns: now, room }) {
            self.send_last(id, &outgoing, wire);
        }
    }

    /// Sends a segment without bytes, if the way to the peer is known.
    fn send_last(&mut self, id: u32, outgoing: &Outgoing, wire: &mut impl Wire) {
        let (side, tuple) = (self.side_of(id), self.endpoints[id].tuple);
        let Some(mac) = self.nets[side as usize].known(tuple.local, tuple.remote) else {
            return self.tally.unsent(outgoing);
        };
        let ports = Ports { source: tuple.local_port, target: tuple.remote_port };
        self.send_alone(side, Way { from: tuple.local, to: tuple.remote, mac }, ports, outgoing, wire);
    }

    /// Probes a shut window.
    pub(super) fn probe(&mut self, id: u32, now: u64, wire: &mut impl Wire) {
        let (side, tuple) = (self.side_of(id), self.endpoints[id].tuple);
        let mac = self.nets[side as usize].known(tuple.local, tuple.remote);
        let Outlet { record, queue, at, net, ports, sources, tally } = self.outlet(id, side, now);
        if let (Some(queue), Some(mac), true) = (queue, mac, has_room(wire, side)) {
            let outgoing = probe(&mut record.tcp, queue, at);
            let way = Way { from: tuple.local, to: tuple.remote, mac };
            wire.send(side, |out| {
                let payload = |data: &mut [u8]| sources.fill(queue, outgoing.seq, data);
                tally.sent(net.tcp(out, way, ports, &outgoing, payload))
            });
        } else {
            tally.unsent_probes += 1;
        }
        self.touch(id);
    }
}
