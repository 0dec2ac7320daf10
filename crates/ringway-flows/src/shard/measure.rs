//! Bytes of each flow, as its clients send and receive them. Only a bit rate of a plan asks for that.

use crate::code::End;
use crate::transport::net::received::{Arrival, Body};

use super::Shard;
use super::endpoint::Tuple;

impl Shard {
    /// The client's end of a connection sent or received so many bytes. What goes after the end of a flow is
    /// counted behind all flows.
    #[inline]
    pub(super) fn measure(&mut self, side: End, endpoint: u32, bytes: u64) {
        if !self.measures() || side == End::Server {
            return;
        }
        let Some(owner) = self.endpoints.get(endpoint).map(|record| record.owner) else { return };
        let of = match owner.is_nobody() {
            true => self.tally.flow_bytes.len() - 1,
            false => self.contexts[owner.context()].flow.into(),
        };
        self.tally.flow_bytes[of] += bytes;
    }

    /// Whether bytes are counted by flow.
    #[inline]
    pub(super) fn measures(&self) -> bool {
        !self.tally.flow_bytes.is_empty()
    }

    /// A frame of any form came to the clients.
    #[cold]
    pub(super) fn measure_any(&mut self, arrival: &Arrival<'_>, bytes: u64) {
        let (ports, is_udp) = match &arrival.body {
            Body::Tcp(ports, _) => (ports, false),
            Body::Udp(ports, _) => (ports, true),
            Body::Unreachable(..) | Body::EchoReply => return,
        };
        let (local, remote) = (arrival.target, arrival.source);
        let tuple = Tuple { local, remote, local_port: ports.target, remote_port: ports.source };
        self.measure_arrival(tuple, is_udp, bytes);
    }

    /// A frame came to the clients.
    #[cold]
    pub(super) fn measure_arrival(&mut self, tuple: Tuple, is_udp: bool, bytes: u64) {
        if let Some(endpoint) = self.find(tuple, is_udp) {
            self.measure(End::Client, endpoint, bytes);
        }
    }
}
