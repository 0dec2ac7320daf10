//! Segments that go by themselves: resets, probes, and answers to nobody's segments.

use ringway_wire::checksum::Sum;

use crate::code::End;
use crate::machine::context::NO_ID;
use crate::transport::conn::State;
use crate::transport::input::Now;
use crate::transport::net::{Ports, Way};
use crate::transport::output::{abort, probe};
use crate::transport::segment::Outgoing;
use crate::transport::stray::reset;

use super::endpoint::settings_of;
use super::flush::Outlet;
use super::wire::has_room;
use super::{Shard, Wire};

impl Shard {
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
                let payload = |data: &mut [u8]| sources.fill(Some(queue), outgoing.seq, data);
                tally.sent(net.tcp(out, way, ports, &outgoing, payload))
            });
        } else {
            tally.unsent_probes += 1;
        }
        self.touch(id);
    }
}
