//! Segments go.

use crate::code::End;
use crate::machine::context::NO_ID;
use crate::transport::conn::{Conn, State, mark};
use crate::transport::input::Now;
use crate::transport::net::neighbours::Resolution;
use crate::transport::net::{Net, Ports, QuickWay, Way};
use crate::transport::output::{is_idle, output};
use crate::transport::queue::Queue;
use crate::transport::timer::due;

use super::endpoint::{Endpoint, Tuple, room, settings_of};
use super::sources::Sources;
use super::wire::has_room;
use super::{Failure, Shard, Tally, Wire};

/// What the segments of an endpoint are made with.
pub(super) struct Outlet<'a> {
    pub(super) record: &'a mut Endpoint,
    pub(super) queue: Option<&'a mut Queue>,
    pub(super) at: Now<'a>,
    pub(super) net: &'a Net,
    pub(super) ports: Ports,
    pub(super) sources: Sources<'a>,
    pub(super) tally: &'a mut Tally,
}

impl Shard {
    /// The side of an endpoint: that of the end which it belongs to.
    #[inline]
    pub(super) fn side_of(&self, id: u32) -> End {
        let local = self.endpoints[id].tuple.local;
        if self.nets[End::Client as usize].is_near(local) { End::Client } else { End::Server }
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
        let queue = self.queues.get(record.queue).map(|sending| &sending.queue);
        if is_idle(&record.tcp, queue) {
            return self.after_sending(id, now);
        }
        while self.flush_one(id, now, wire) {}
    }

    /// Sends what is due after a segment that `plain` took. `back` is the way on which it came, if that is the way of the answer.
    #[inline(always)]
    pub(super) fn answer(&mut self, id: u32, back: Option<(End, QuickWay)>, now: u64, wire: &mut impl Wire) {
        let Some((side, way)) = back.filter(|_| self.tally.flow_bytes.is_empty()) else {
            return self.flush(id, now, wire);
        };
        let record = &self.endpoints[id];
        let queue = self.queues.get(record.queue).map(|sending| &sending.queue);
        if is_idle(&record.tcp, queue) {
            self.after_sending(id, now);
        } else if self.send_one(id, side, way, now, wire) {
            self.flush(id, now, wire);
        }
    }

    /// Sends one segment of the most frequent form, or all of another form. Says whether there is more to send.
    #[inline]
    fn flush_one(&mut self, id: u32, now: u64, wire: &mut impl Wire) -> bool {
        let quick = match &self.back {
            Some(back) if back.endpoint == id => Some((back.side, back.way)),
            _ => quick_way(&self.nets, self.endpoints[id].tuple),
        };
        match quick.filter(|_| self.tally.flow_bytes.is_empty()) {
            Some((side, way)) => self.send_one(id, side, way, now, wire),
            None => self.flush_any(id, now, wire),
        }
    }

    /// Sends a segment on its way. Says whether there is more to send; arms the timer when there is not.
    ///
    /// It is a function of its own, since a loop around these lines keeps more values than there are registers.
    #[inline(never)]
    fn send_one(&mut self, id: u32, side: End, way: QuickWay, now: u64, wire: &mut impl Wire) -> bool {
        if !self.is_next(side) || !has_room(wire, side) {
            self.block(id, side);
            self.after_sending(id, now);
            return false;
        }
        let Self { endpoints, queues, incoming, settings, narrow, contexts, nets, tally, .. } = self;
        let record = &mut endpoints[id];
        let mut queue = queues.get_mut(record.queue).map(|sending| &mut sending.queue);
        let settings = settings_of(record, settings, narrow, contexts);
        let at = Now { settings, ns: now, room: room(record, incoming, settings) };
        if let Some(outgoing) = output(&mut record.tcp, queue.as_deref_mut(), at) {
            let ports = Ports { source: record.tuple.local_port, target: record.tuple.remote_port };
            let (bundle, sums, contents, blocks) = (&self.bundle, &*self.sums, &self.contents, &self.blocks);
            let stream = queue.as_deref();
            wire.send(side, |out| {
                let sources = Sources { bundle, sums, contents, blocks };
                let payload = |data: &mut [u8]| sources.fill(stream, outgoing.seq, data);
                tally.sent(nets[side as usize].quick_tcp(out, way, ports, &outgoing, payload))
            });
            if !is_idle(&record.tcp, queue.as_deref()) {
                return true;
            }
        }
        self.after_sending(id, now);
        false
    }

    /// Whether no segment of a side waits for a slot, or the one that waits longest has its turn.
    #[inline]
    fn is_next(&self, side: End) -> bool {
        self.is_unblocking || self.blocked[side as usize].is_empty()
    }

    /// Sends later: when a ring has a free slot.
    #[cold]
    fn block(&mut self, id: u32, side: End) {
        if !self.endpoints[id].tcp.is(mark::BLOCKED) {
            self.endpoints[id].tcp.set(mark::BLOCKED);
            self.blocked[side as usize].push_back(id);
        }
    }

    /// Sends segments of any form, and counts bytes by flow where a plan asks for it. Without a way there is nothing to be done.
    #[inline(never)]
    fn flush_any(&mut self, id: u32, now: u64, wire: &mut impl Wire) -> bool {
        if let Some((side, way)) = self.way(id, now, wire) {
            let before = self.tally.bytes_out;
            self.send_all(id, side, way, now, wire);
            self.measure(side, id, self.tally.bytes_out - before);
            self.after_sending(id, now);
        }
        false
    }

    /// The way of a connection's frames, whatever form they have. Without one, they wait for it, or the flow fails.
    #[inline(never)]
    fn way(&mut self, id: u32, now: u64, wire: &mut impl Wire) -> Option<(End, Way)> {
        let (side, tuple) = (self.side_of(id), self.endpoints[id].tuple);
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
    pub(super) fn outlet(&mut self, id: u32, side: End, now: u64) -> Outlet<'_> {
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
    fn send_all(&mut self, id: u32, side: End, way: Way, now: u64, wire: &mut impl Wire) {
        if !self.is_next(side) {
            return self.block(id, side);
        }
        let Outlet { record, mut queue, at, net, ports, sources, tally } = self.outlet(id, side, now);
        while has_room(wire, side) {
            let Some(outgoing) = output(&mut record.tcp, queue.as_deref_mut(), at) else { return };
            let stream = queue.as_deref();
            wire.send(side, |out| {
                let payload = |data: &mut [u8]| sources.fill(stream, outgoing.seq, data);
                tally.sent(net.tcp(out, way, ports, &outgoing, payload))
            });
        }
        self.block(id, side);
    }

    /// Gives an empty queue back, and arms the timer.
    #[inline(always)]
    fn after_sending(&mut self, id: u32, now: u64) {
        let Self { endpoints, queues, settings, .. } = self;
        let record = &mut endpoints[id];
        let mut queue = queues.get(record.queue).map(|sending| &sending.queue);
        if queue.is_some_and(|queue| is_done(&record.tcp, queue)) {
            queue = None;
            queues.give(std::mem::replace(&mut record.queue, NO_ID));
        }
        if (!record.links.is_armed() || record.tcp.is(mark::ACK_OWED) && !record.tcp.is(mark::DELAYING))
            && let Some(after) = due(&record.tcp, queue, settings)
        {
            self.arm_endpoint(id, now + after);
        }
    }
}

/// The way that the frames of a connection take, if it is of the most frequent form.
#[inline(always)]
fn quick_way(nets: &[Net; 2], tuple: Tuple) -> Option<(End, QuickWay)> {
    let way = |side: End| Some((side, nets[side as usize].quick_way(tuple.local, tuple.remote)?));
    way(End::Client).or_else(|| way(End::Server))
}

/// Whether all of a queue was sent and acknowledged, and no FIN comes behind it.
#[inline]
fn is_done(tcp: &Conn, queue: &Queue) -> bool {
    let waits_for_fin = tcp.marks & (mark::FIN_QUEUED | mark::FIN_SENT) == mark::FIN_QUEUED;
    tcp.una == queue.max && queue.left(tcp.next) == 0 && !waits_for_fin
}
