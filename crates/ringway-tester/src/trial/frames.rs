//! The frames of a trial: test frames, and what takes the place of some.

use std::net::Ipv4Addr;

use super::format::{FCS, Format, v4, vlan_tag};
use super::frame::Writer;
use super::marks::Marks;
use ringway_traffic::bytes::{fold, put, put_u16, sum_bytes};

const BROADCAST: [u8; 6] = [0xff; 6];

/// Length of the headers of a query from its IP header on: IPv4 and ICMP.
const QUERY: usize = 28;

const ICMP: u8 = 1;
const ECHO_REQUEST: u8 = 8;
const HOPS: u8 = 64;

/// Writes the frames of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    writer: Writer,
    /// IPv6 frames that take turns with the writer's.
    other: Option<Writer>,
    marks: Marks,
    /// The next frame whose place another takes.
    marked: u64,
    special: Special,
}

/// What takes the place of frames.
#[derive(Clone, Debug)]
enum Special {
    Broadcast,
    Query(Query),
}

/// An ICMP echo request, as long as the frame in whose place it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Of the device, and of the host that asks.
    pub(crate) macs: [[u8; 6]; 2],
    pub(crate) vlans: Vec<u16>,
    /// Side of the host that asks.
    pub(crate) side: usize,
    pub(crate) address: Ipv4Addr,
    /// Identifier that answers have too.
    pub(crate) id: u16,
}

impl Frames {
    /// Frames of `stream` from side `from` to the other one.
    ///
    /// # Errors
    /// When a MAC address can't be read.
    pub(crate) fn new(format: &Format, stream: u16, from: usize) -> Result<Self, String> {
        let of = |ipv6| Writer::new(&Format { ipv6, ..format.clone() }, stream, from);
        let writer = of(format.ipv6 && !format.mixed)?;
        let other = format.mixed.then(|| of(true)).transpose()?;
        let (marks, special) = (Marks::default(), Special::Broadcast);
        Ok(Self { writer, other, marks, marked: u64::MAX, special })
    }

    /// At the start of a trial: which frames others take the place of.
    pub(crate) fn begin(&mut self, marks: Marks, query: Option<Query>) {
        self.marked = marks.next(0);
        self.marks = marks;
        self.special = query.map_or(Special::Broadcast, Special::Query);
    }

    /// Writes frame `seq` of `size` bytes, FCS included but not written, and returns its length. Numbers
    /// rise, unless a frame is written again.
    ///
    /// # Panics
    /// If `buf` is shorter than that, or the size was not [checked](Format::check).
    #[inline]
    pub(crate) fn write(&mut self, buf: &mut [u8], seq: u64, now_ns: u64, size: u32) -> usize {
        if seq >= self.marked {
            self.marked = self.marks.next(seq);
        }
        if seq == self.marked {
            return self.special(buf, seq, now_ns, size);
        }
        self.test(buf, seq, now_ns, size)
    }

    #[inline]
    fn test(&mut self, buf: &mut [u8], seq: u64, now_ns: u64, size: u32) -> usize {
        match &mut self.other {
            // By the number of ones: in step with no cycle of flows or sizes, and even over every power of two.
            Some(other) if seq.count_ones() & 1 == 1 => other.write(buf, seq, now_ns, size),
            _ => self.writer.write(buf, seq, now_ns, size),
        }
    }

    fn special(&mut self, buf: &mut [u8], seq: u64, now_ns: u64, size: u32) -> usize {
        match &self.special {
            Special::Broadcast => {
                let len = self.test(buf, seq, now_ns, size);
                put(buf, 0, &BROADCAST);
                len
            }
            Special::Query(query) => query.write(buf, self.marks.below(seq) as u16, size),
        }
    }
}

impl Query {
    fn write(&self, buf: &mut [u8], number: u16, size: u32) -> usize {
        let frame = &mut buf[..(size - FCS) as usize];
        frame.fill(0);
        put(frame, 0, self.macs.as_flattened());
        for k in 0..self.vlans.len() {
            put(frame, 12 + 4 * k, &vlan_tag(&self.vlans, k));
        }
        let at = 14 + 4 * self.vlans.len();
        put_u16(frame, at - 2, 0x0800);
        let packet = &mut frame[at..];
        debug_assert!(packet.len() >= QUERY);
        put_u16(packet, 2, packet.len() as u16);
        put(packet, 0, &[0x45]);
        put(packet, 8, &[HOPS, ICMP]);
        put(packet, 12, &v4(self.side, 0).octets());
        put(packet, 16, &self.address.octets());
        put_u16(packet, 10, !fold(sum_bytes(&packet[..20])));
        let message = &mut packet[20..];
        put(message, 0, &[ECHO_REQUEST]);
        put_u16(message, 4, self.id);
        put_u16(message, 6, number);
        put_u16(message, 2, !fold(sum_bytes(message)));
        frame.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::flow::{FlowOrder, Flows};
    use crate::trial::frame::{Kind, classify};
    use ringway_wire::{Icmp, Net, Transport};

    fn format() -> Format {
        Format::new(Flows::new(100, FlowOrder::Sequential, 1))
    }

    #[test]
    fn one_of_a_hundred_is_a_broadcast_and_all_are_test_frames() {
        let mut frames = Frames::new(&format(), 0, 0).unwrap();
        frames.begin(Marks::every(100), None);
        let mut buf = [0; 64];
        for seq in 0..1000 {
            let len = frames.write(&mut buf, seq, 5, 64);
            assert_eq!(buf.starts_with(&BROADCAST), seq % 100 == 99, "{seq}");
            assert_eq!(classify(&buf[..len], seq), Kind::Test { stream: 0, seq, time_ns: 5 });
        }
        // A frame that found no room is written again.
        frames.write(&mut buf, 999, 5, 64);
        assert!(buf.starts_with(&BROADCAST));
    }

    #[test]
    fn two_protocols_take_turns_in_every_flow() {
        let format = Format { mixed: true, ..format() };
        assert_eq!(format.least(), 78);
        let mut frames = Frames::new(&format, 0, 0).unwrap();
        let mut buf = [0; 128];
        let mut six = [0u32; 100];
        for seq in 0..12_800u64 {
            let len = frames.write(&mut buf, seq, 5, 78);
            assert_eq!(classify(&buf[..len], seq), Kind::Test { stream: 0, seq, time_ns: 5 });
            six[(seq % 100) as usize] += u32::from(buf[12..14] == [0x86, 0xdd]);
        }
        assert!(six.iter().all(|n| (32..=96).contains(n)), "{six:?}");
        assert!(six.iter().sum::<u32>().abs_diff(6400) < 64);
    }

    #[test]
    fn queries_are_echo_requests_as_long_as_the_frame() {
        for vlans in [vec![], vec![5, 6]] {
            let macs = [[2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 1]];
            let address = [198, 18, 0, 1].into();
            let query = Query { macs, vlans: vlans.clone(), side: 0, address, id: 7 };
            let mut frames = Frames::new(&Format { vlans: vlans.clone(), ..format() }, 0, 0).unwrap();
            frames.begin(Marks::at([0, 50].into_iter()), Some(query));
            let mut buf = [0xee; 256];
            for (seq, number) in [(0, 0), (50, 1)] {
                let len = frames.write(&mut buf, seq, 5, 128);
                assert_eq!(len, 124);
                let packet = ringway_wire::parse(&buf[..len]);
                assert!(packet.malformed.is_none() && packet.vlans().count() == vlans.len(), "{packet:?}");
                let Some(Net::Ipv4(ip)) = packet.net else { panic!("{packet:?}") };
                assert_eq!((ip.dst(), ip.src()), (address, v4(0, 0)));
                assert!(matches!(packet.transport, Some(Transport::Icmpv4(_))));
                let icmp = Icmp::new_checked(ip.payload()).unwrap();
                assert!(icmp.verify_checksum_v4() && icmp.msg_type() == ECHO_REQUEST);
                assert_eq!(ip.payload()[4..8], [0, 7, 0, number]);
            }
            frames.write(&mut buf, 51, 5, 128);
            assert_eq!(buf[..6], [2, 0x52, 0x57, 0, 0, 2]);
        }
    }
}
