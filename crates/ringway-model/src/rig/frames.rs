//! The frames of a load: written whole each time, for a device changes them in place.

use ringway_tester::trial::flow::Flows;
use ringway_traffic::bytes::{fold, put, put_u16, sum_bytes};
use ringway_wire::MacAddr;

use crate::sweep::Point;

/// Bytes of the FCS, which no buffer holds.
const FCS: u32 = 4;

/// Bits of the host part of 10.0.0.0/8.
const HOST_BITS: u32 = 24;

/// The seed of random orders: runs of a point send the same packets.
const SEED: u64 = 7;

/// Whose addresses frames carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Receiver: a router's own address, or a station behind a switch.
    pub to: MacAddr,
    /// Sender. A switch sees flows as senders, so its low 24 bits vary.
    pub from: MacAddr,
    /// Whether flows are destinations of IPv4 (of routers) or senders of Ethernet.
    pub routed: bool,
}

/// Writes the frames of a load.
#[derive(Debug, Clone)]
pub struct Frames {
    bytes: Vec<u8>,
    flows: Flows,
    count: u64,
    routed: bool,
    /// Sum of the IPv4 header without destination and checksum.
    sum: u64,
}

impl Frames {
    /// The frames of a load between two ends: UDP over IPv4 without UDP checksum.
    #[must_use]
    pub fn new(point: &Point, ends: &Ends) -> Self {
        let mut bytes = vec![0; point.size.saturating_sub(FCS).max(60) as usize];
        put(&mut bytes, 0, &ends.to.0);
        put(&mut bytes, 6, &ends.from.0);
        put(&mut bytes, 12, &[8, 0, 0x45, 0]);
        let (ip, udp) = (bytes.len() as u16 - 14, bytes.len() as u16 - 34);
        put_u16(&mut bytes, 16, ip);
        put(&mut bytes, 22, &[64, 17, 0, 0, 198, 18, 0, 2]);
        put(&mut bytes, 34, &[0x10, 0, 0, 9]);
        put_u16(&mut bytes, 38, udp);
        let sum = sum_bytes(&bytes[14..34]);
        let flows = Flows::new(point.flows, point.order, SEED);
        Self { bytes, flows, count: point.flows.max(1).into(), routed: ends.routed, sum }
    }

    /// Bytes of each frame, without FCS.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Writes frame `seq` to the front of a buffer and returns its length; 0 when the buffer is too short.
    #[inline]
    pub fn write(&self, buffer: &mut [u8], seq: u64) -> usize {
        let Some(frame) = buffer.get_mut(..self.bytes.len()) else { return 0 };
        frame.copy_from_slice(&self.bytes);
        let flow = self.flows.index(seq);
        let to = if self.routed { self.destination(flow) } else { destination(0, 1) };
        put(frame, 30, &to.to_be_bytes());
        put_u16(frame, 24, !fold(self.sum + u64::from(to >> 16) + u64::from(to & 0xffff)));
        if !self.routed {
            put(frame, 9, &flow.to_be_bytes()[1..]);
        }
        frame.len()
    }

    fn destination(&self, flow: u32) -> u32 {
        destination(flow, self.count)
    }
}

/// Destination of a flow among `count`: they share 10.0.0.0/8 evenly, so routes that do the same have the same number of flows each.
fn destination(flow: u32, count: u64) -> u32 {
    let host = (u64::from(flow) << HOST_BITS) / count;
    10 << HOST_BITS | (host as u32 & 0xff_ffff) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_tester::trial::flow::FlowOrder;
    use ringway_wire::checksum;
    use std::collections::HashSet;

    const ENDS: Ends =
        Ends { to: MacAddr([2, 0, 0, 0, 0, 1]), from: MacAddr([2, 0, 0, 0, 0, 0]), routed: true };

    fn frames(point: Point, ends: Ends) -> Vec<Vec<u8>> {
        let frames = Frames::new(&point, &ends);
        let mut buffer = [0xee; 2048];
        let mut written = |seq| {
            let len = frames.write(&mut buffer, seq);
            buffer[..len].to_vec()
        };
        (0..512).map(&mut written).collect()
    }

    #[test]
    fn each_frame_is_whole_and_of_its_flow() {
        for size in [64, 512, 1518] {
            let all = frames(Point { size, flows: 256, ..Point::default() }, ENDS);
            for frame in &all {
                assert_eq!(frame.len() as u32 + 4, size);
                assert_eq!(checksum::of(&frame[14..34]), 0);
                assert_eq!(frame[30], 10);
            }
            let seen: HashSet<_> = all.iter().map(|f| f[30..34].to_vec()).collect();
            assert_eq!(seen.len(), 256);
            // One flow for each of 256 routes: the byte behind the 10.
            assert_eq!(all.iter().map(|f| f[31]).collect::<HashSet<_>>().len(), 256);
        }
    }

    #[test]
    fn switches_see_flows_as_senders() {
        let point = Point { flows: 100, order: FlowOrder::Random, ..Point::default() };
        let all = frames(point, Ends { routed: false, ..ENDS });
        assert!(all.iter().all(|f| f[..9] == [2, 0, 0, 0, 0, 1, 2, 0, 0] && f[30..34] == [10, 0, 0, 1]));
        assert!(all.iter().all(|f| checksum::of(&f[14..34]) == 0));
        assert!(all.iter().map(|f| f[9..12].to_vec()).collect::<HashSet<_>>().len() > 90);
    }

    #[test]
    fn a_million_destinations_differ() {
        let seen: HashSet<u32> = (0..1 << 20).map(|flow| destination(flow, 1 << 20)).collect();
        assert_eq!(seen.len(), 1 << 20);
        assert_eq!(Frames::new(&Point::default(), &ENDS).write(&mut [0; 10], 0), 0);
    }
}
