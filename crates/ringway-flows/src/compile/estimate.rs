//! Estimates of what a run of a flow sends.

use crate::code::{Estimate, Transport};

/// Bytes of data in a segment.
const SEGMENT: f64 = 1460.0;
/// Bytes of headers of layers 2 to 4: with TCP, with UDP.
const TCP_HEADERS: f64 = 54.0;
const UDP_HEADERS: f64 = 42.0;

/// Sums of means. What stands in a loop counts as often as the loop runs.
#[derive(Clone, Debug)]
pub(super) struct Estimator {
    /// How often the statement that is looked at runs in one flow.
    pub(super) factor: f64,
    packets: f64,
    payload: f64,
    bytes: f64,
    connections: f64,
    think: f64,
    /// Slot and direction of the last data of TCP, whose acknowledgement has not been counted.
    owed: Option<(u8, bool)>,
}

impl Default for Estimator {
    fn default() -> Self {
        Self { factor: 1.0, packets: 0.0, payload: 0.0, bytes: 0.0, connections: 0.0, think: 0.0, owed: None }
    }
}

impl Estimator {
    /// Packets with this many bytes of data in all.
    pub(super) fn packets(&mut self, count: f64, data: f64, headers: f64) {
        self.packets += self.factor * count;
        self.payload += self.factor * data;
        self.bytes += self.factor * (count * headers + data);
    }

    /// The acknowledgement of the last data, unless the next packet carries it.
    fn settle(&mut self, next: Option<(u8, bool)>) {
        if let Some((slot, client)) = self.owed.take()
            && next != Some((slot, !client))
        {
            self.packets(1.0, 0.0, TCP_HEADERS);
        }
    }

    /// A connection is opened.
    pub(super) fn open(&mut self, transport: Transport) {
        self.settle(None);
        self.connections += self.factor;
        if transport == Transport::Tcp {
            self.packets(3.0, 0.0, TCP_HEADERS);
        }
    }

    /// A message of this many bytes.
    pub(super) fn message(&mut self, transport: Transport, slot: u8, client: bool, len: f64) {
        if transport == Transport::Udp {
            self.settle(None);
            return self.packets(1.0, len, UDP_HEADERS);
        }
        self.settle(Some((slot, client)));
        let segments = (len / SEGMENT).ceil().max(1.0);
        // Every second segment is acknowledged, and the last one by what follows.
        let acknowledgements = ((segments - 1.0) / 2.0).floor();
        self.packets(segments, len, TCP_HEADERS);
        self.packets(acknowledgements, 0.0, TCP_HEADERS);
        self.owed = Some((slot, client));
    }

    /// A connection is closed or reset with this many packets.
    pub(super) fn close(&mut self, slot: u8, client: bool, count: f64) {
        self.settle(Some((slot, client)));
        self.packets(count, 0.0, TCP_HEADERS);
    }

    /// The flow waits this many nanoseconds.
    pub(super) fn think(&mut self, time: f64) {
        self.settle(None);
        self.think += self.factor * time;
    }

    /// The sums.
    pub(super) fn finish(mut self) -> Estimate {
        self.settle(None);
        let rounded = |x: f64| x.round().clamp(0.0, 1e18) as u64;
        Estimate {
            milli_packets: rounded(self.packets * 1e3),
            payload: rounded(self.payload),
            bytes: rounded(self.bytes),
            milli_connections: rounded(self.connections * 1e3),
            think: rounded(self.think),
        }
    }
}
