//! A prebuilt frame, of which only the varying bytes are rewritten per packet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use super::bytes::{fold, put, put_u16, sum_bytes, sum_u128};
use super::check::MAX_STREAMS;
use super::range::{DEFAULT_PORT, EndpointRange, EndpointWalk, MacRange, MacWalk, Order};
use super::tag::Tag;

/// Longest frame: fits the 16-bit length of a slot.
pub const MAX_LENGTH: usize = 65_535;

const FILL: &[u8; 16] = b"ringway pkt-gen ";
const HOP_LIMIT: u8 = 64;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// What a generated frame looks like. The default is netmap's: 60 bytes from 10.0.0.1:1234 to 10.1.0.1:1234,
/// broadcast.
///
/// ```
/// use ringway_traffic::template::FrameSpec;
///
/// let spec = FrameSpec { length: 1514, dst: "10.1.0.1-10.1.0.255".parse()?, ..FrameSpec::default() };
/// assert_eq!(spec.minimum_length(), 42);
/// # Ok::<(), ringway_traffic::range::RangeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameSpec {
    /// Bytes from the destination MAC address to the end of the payload, **without** the FCS (`-l`).
    pub length: usize,
    /// Source MAC addresses (`-S`).
    pub src_mac: MacRange,
    /// Destination MAC addresses (`-D`).
    pub dst_mac: MacRange,
    /// 802.1Q tag, if any.
    pub vlan: Option<Vlan>,
    /// Source addresses and ports (`-s`).
    pub src: EndpointRange,
    /// Destination addresses and ports (`-d`), of the family of `src`.
    pub dst: EndpointRange,
    /// Walk through `src`; [`Order::Random`] is `-z`.
    pub src_order: Order,
    /// Walk through `dst`; [`Order::Random`] is `-Z`.
    pub dst_order: Order,
    /// Stream of the [`Tag`], below [`MAX_STREAMS`]: one per generating thread.
    pub stream: u16,
}

impl FrameSpec {
    /// Shortest length that holds the headers, bytes without FCS: 42 for IPv4, 62 for IPv6, 4 more with VLAN.
    pub fn minimum_length(&self) -> usize {
        self.udp_offset() + UDP_HEADER
    }

    /// Shortest length that also holds the [`Tag`], bytes without FCS: 60 for IPv4, 80 for IPv6, 4 more with
    /// VLAN. Shorter frames are sent untagged and cannot be checked or timed.
    pub fn minimum_tagged_length(&self) -> usize {
        self.minimum_length() + Tag::LEN
    }

    fn ip_offset(&self) -> usize {
        if self.vlan.is_some() { 18 } else { 14 }
    }

    fn udp_offset(&self) -> usize {
        self.ip_offset() + if self.src.is_ipv6() { 40 } else { 20 }
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.src.is_ipv6() != self.dst.is_ipv6() {
            return Err(SpecError::MixedFamilies { src: self.src, dst: self.dst });
        }
        if self.length < self.minimum_length() {
            let (ipv6, vlan) = (self.src.is_ipv6(), self.vlan.is_some());
            return Err(SpecError::TooShort {
                length: self.length,
                minimum: self.minimum_length(),
                ipv6,
                vlan,
            });
        }
        if self.length > MAX_LENGTH {
            return Err(SpecError::TooLong { length: self.length });
        }
        if self.stream >= MAX_STREAMS {
            return Err(SpecError::Stream { stream: self.stream });
        }
        Ok(())
    }
}

impl Default for FrameSpec {
    fn default() -> Self {
        let host = |address: [u8; 4]| EndpointRange::single(Ipv4Addr::from(address).into(), DEFAULT_PORT);
        Self {
            length: 60,
            src_mac: MacRange::single([2, 0, 0, 0, 0, 1]),
            dst_mac: MacRange::BROADCAST,
            vlan: None,
            src: host([10, 0, 0, 1]),
            dst: host([10, 1, 0, 1]),
            src_order: Order::Nested,
            dst_order: Order::Nested,
            stream: 0,
        }
    }
}

/// An 802.1Q tag, written `ID` or `ID:PRIORITY`.
///
/// ```
/// use ringway_traffic::template::Vlan;
///
/// assert_eq!("100:5".parse::<Vlan>()?, Vlan::new(100, 5)?);
/// # Ok::<(), ringway_traffic::template::VlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan(u16);

impl Vlan {
    /// A tag with identifier 0 (priority only) to 4094 and priority 0 to 7.
    ///
    /// # Errors
    /// When either is out of range.
    pub fn new(id: u16, priority: u8) -> Result<Self, VlanError> {
        if id > 4094 || priority > 7 {
            return Err(VlanError(format!("{id}:{priority}")));
        }
        Ok(Self(u16::from(priority) << 13 | id))
    }

    /// Tag control information: priority in the top three bits, identifier in the low twelve.
    pub fn control(self) -> u16 {
        self.0
    }
}

impl FromStr for Vlan {
    type Err = VlanError;

    fn from_str(text: &str) -> Result<Self, VlanError> {
        let (id, priority) = text.split_once(':').unwrap_or((text, "0"));
        match (id.parse(), priority.parse()) {
            (Ok(id), Ok(priority)) => Self::new(id, priority),
            _ => Err(VlanError(text.to_owned())),
        }
    }
}

/// A VLAN tag that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlanError(String);

impl fmt::Display for VlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad VLAN tag '{}'; accepted: ID[:PRIORITY] with ID 0 to 4094 and PRIORITY 0 to 7", self.0)
    }
}

impl std::error::Error for VlanError {}

/// A frame that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// The headers do not fit.
    TooShort {
        /// Length asked for, bytes without FCS.
        length: usize,
        /// Shortest possible.
        minimum: usize,
        /// Headers are IPv6.
        ipv6: bool,
        /// Headers include a VLAN tag.
        vlan: bool,
    },
    /// Longer than [`MAX_LENGTH`].
    TooLong {
        /// Length asked for, bytes without FCS.
        length: usize,
    },
    /// Source and destination are of different families.
    MixedFamilies {
        /// The source range.
        src: EndpointRange,
        /// The destination range.
        dst: EndpointRange,
    },
    /// Stream not below [`MAX_STREAMS`].
    Stream {
        /// The stream asked for.
        stream: u16,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { length, minimum, ipv6, vlan } => write!(
                f,
                "frame length {length} cannot hold Ethernet{}, {} and UDP headers; minimum {minimum} (without FCS)",
                if *vlan { ", VLAN" } else { "" },
                if *ipv6 { "IPv6" } else { "IPv4" },
            ),
            Self::TooLong { length } => {
                write!(f, "frame length {length} is above the maximum {MAX_LENGTH} (without FCS)")
            }
            Self::MixedFamilies { src, dst } => {
                write!(f, "source {src} and destination {dst} are not of one IP version")
            }
            Self::Stream { stream } => write!(f, "stream {stream} is not below {MAX_STREAMS}"),
        }
    }
}

impl std::error::Error for SpecError {}

/// Writes frames of one [`FrameSpec`] into buffers.
///
/// Per frame the endpoints advance as in netmap: source port, source address, destination port, destination
/// address, each when the one before has gone round. MAC addresses advance with every frame on their own,
/// source first, so that all are used however long the IP ranges are. A random end takes no part in this.
///
/// Checksums come from sums of the constant parts plus sums of the varying fields; the [`Tag`] adds
/// nothing.
///
/// ```
/// use ringway_traffic::template::{FrameSpec, Template};
///
/// let mut template = Template::new(&FrameSpec::default())?;
/// let mut buffer = [0; 2048];
/// let len = template.write(&mut buffer, 0, 1_000); // the whole frame
/// assert_eq!(len, 60);
/// template.rewrite(&mut buffer, 1, 1_067); // only what differs
/// # Ok::<(), ringway_traffic::template::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    /// The next frame but for its tag.
    frame: Vec<u8>,
    ip: usize,
    udp: usize,
    tagged: bool,
    stream: u16,
    macs: Option<(MacWalk, MacWalk)>,
    ends: Option<Ends>,
}

/// Varying endpoints, with the sums of everything else.
#[derive(Clone, Debug)]
struct Ends {
    src: EndpointWalk,
    dst: EndpointWalk,
    /// IPv4 header without addresses; unused in IPv6.
    ip_sum: u64,
    /// Pseudo-header, UDP header and payload without addresses and ports.
    udp_sum: u64,
}

impl Template {
    /// Builds the frame.
    ///
    /// # Errors
    /// When the length cannot hold the headers or is too long, the IP versions differ, or the stream is too high.
    pub fn new(spec: &FrameSpec) -> Result<Self, SpecError> {
        spec.check()?;
        let (ip, udp) = (spec.ip_offset(), spec.udp_offset());
        let payload = udp + UDP_HEADER;
        let tagged = spec.length >= spec.minimum_tagged_length();
        let mut frame = vec![0; spec.length];
        put_ethernet(&mut frame, spec);
        put_ip(&mut frame[ip..], spec.src.is_ipv6());
        put_u16(&mut frame[udp..], 4, (spec.length - udp) as u16);
        for (byte, fill) in frame[payload..].iter_mut().zip(FILL.iter().cycle()) {
            *byte = *fill;
        }
        if tagged {
            frame[payload..payload + Tag::LEN].fill(0);
        }
        let ends = Ends {
            src: EndpointWalk::new(&spec.src, spec.src_order),
            dst: EndpointWalk::new(&spec.dst, spec.dst_order),
            ip_sum: sum_bytes(&frame[ip..udp]),
            udp_sum: sum_bytes(&frame[udp..]) + u64::from(UDP) + (spec.length - udp) as u64,
        };
        ends.put(&mut frame[ip..]);
        let macs = (MacWalk::new(&spec.src_mac), MacWalk::new(&spec.dst_mac));
        Ok(Self {
            frame,
            ip,
            udp,
            tagged,
            stream: spec.stream,
            macs: (macs.0.varies() || macs.1.varies()).then_some(macs),
            ends: (ends.src.varies() || ends.dst.varies()).then_some(ends),
        })
    }

    /// Bytes of each frame, without FCS.
    #[expect(clippy::len_without_is_empty, reason = "a frame is never empty")]
    pub fn len(&self) -> usize {
        self.frame.len()
    }

    /// Whether frames are long enough for a [`Tag`].
    pub fn is_tagged(&self) -> bool {
        self.tagged
    }

    /// Writes the next frame, with `seq` and `now_ns` in its tag, and returns its length.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len).
    pub fn write(&mut self, buf: &mut [u8], seq: u64, now_ns: u64) -> usize {
        let frame = &mut buf[..self.frame.len()];
        frame.copy_from_slice(&self.frame);
        self.rewrite(frame, seq, now_ns)
    }

    /// Like [`write`](Self::write) for a buffer that still holds a frame this template wrote: only the varying
    /// bytes are stored. Over other contents the result is not a valid frame.
    ///
    /// # Panics
    /// If `buf` is shorter than [`len`](Self::len).
    pub fn rewrite(&mut self, buf: &mut [u8], seq: u64, now_ns: u64) -> usize {
        let frame = &mut buf[..self.frame.len()];
        if let Some((src, dst)) = &mut self.macs {
            put(frame, 0, &dst.current());
            put(frame, 6, &src.current());
            if src.advance() {
                dst.advance();
            }
        }
        if let Some(ends) = &mut self.ends {
            ends.put(&mut frame[self.ip..]);
            ends.advance();
        }
        if self.tagged {
            let tag = Tag { stream: self.stream, seq, time_ns: now_ns };
            if let Some(bytes) = frame[self.udp + UDP_HEADER..].first_chunk_mut() {
                tag.write(bytes);
            }
        }
        frame.len()
    }
}

impl Ends {
    fn advance(&mut self) {
        if self.src.advance() {
            self.dst.advance();
        }
    }

    /// Stores addresses, ports and checksums in `packet`, which starts with the IP header.
    fn put(&self, packet: &mut [u8]) {
        let (src, dst) = (self.src.bits(), self.dst.bits());
        let ports = u32::from(self.src.port()) << 16 | u32::from(self.dst.port());
        if self.src.is_ipv6() {
            let Some(headers) = packet.first_chunk_mut::<48>() else { return };
            put(headers, 8, &src.to_be_bytes());
            put(headers, 24, &dst.to_be_bytes());
            put(headers, 40, &ports.to_be_bytes());
            put_u16(headers, 46, self.udp_checksum(sum_u128(src) + sum_u128(dst) + u64::from(ports)));
        } else {
            let Some(headers) = packet.first_chunk_mut::<28>() else { return };
            let sum = src as u64 + dst as u64;
            put(headers, 12, &(src as u32).to_be_bytes());
            put(headers, 16, &(dst as u32).to_be_bytes());
            put_u16(headers, 10, !fold(self.ip_sum + sum));
            put(headers, 20, &ports.to_be_bytes());
            put_u16(headers, 26, self.udp_checksum(sum + u64::from(ports)));
        }
    }

    /// The UDP checksum; zero means "none" (RFC 768) and is sent as its other form, all ones.
    fn udp_checksum(&self, sum: u64) -> u16 {
        match !fold(self.udp_sum + sum) {
            0 => 0xffff,
            checksum => checksum,
        }
    }
}

fn put_ethernet(frame: &mut [u8], spec: &FrameSpec) {
    put(frame, 0, &spec.dst_mac.first());
    put(frame, 6, &spec.src_mac.first());
    if let Some(vlan) = spec.vlan {
        put_u16(frame, 12, 0x8100);
        put_u16(frame, 14, vlan.control());
    }
    let ethertype = match spec.src.first().0 {
        IpAddr::V4(_) => 0x0800,
        IpAddr::V6(_) => 0x86dd,
    };
    put_u16(frame, spec.ip_offset() - 2, ethertype);
}

/// Writes the IP header without addresses and checksum; `packet` ends with the frame.
fn put_ip(packet: &mut [u8], ipv6: bool) {
    let length = packet.len();
    if ipv6 {
        packet[0] = 0x60;
        put_u16(packet, 4, (length - 40) as u16);
        put(packet, 6, &[UDP, HOP_LIMIT]);
    } else {
        packet[0] = 0x45;
        put_u16(packet, 2, length as u16);
        put_u16(packet, 6, 0x4000); // don't fragment; with it the identification may be zero (RFC 6864, 4.1)
        put(packet, 8, &[HOP_LIMIT, UDP]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::NoTag;
    use proptest::prelude::*;

    /// Ones' complement sum, one word at a time.
    fn naive_sum(bytes: &[u8]) -> u16 {
        bytes.chunks(2).fold(0u16, |acc, pair| {
            let word = u16::from(pair[0]) << 8 | u16::from(*pair.get(1).unwrap_or(&0));
            let (sum, carry) = acc.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    /// Checks lengths and checksums of a frame from its bytes alone.
    fn verify(frame: &[u8], ip: usize, ipv6: bool) {
        let udp = ip + if ipv6 { 40 } else { 20 };
        let udp_length = frame.len() - udp;
        let mut pseudo = Vec::new();
        if ipv6 {
            assert_eq!(frame[ip + 4..ip + 6], (udp_length as u16).to_be_bytes());
            pseudo.extend_from_slice(&frame[ip + 8..ip + 40]);
        } else {
            assert_eq!(frame[ip + 2..ip + 4], ((frame.len() - ip) as u16).to_be_bytes());
            assert_eq!(naive_sum(&frame[ip..udp]), 0xffff, "IPv4 header checksum");
            pseudo.extend_from_slice(&frame[ip + 12..ip + 20]);
        }
        assert_eq!(frame[udp + 4..udp + 6], (udp_length as u16).to_be_bytes());
        assert_ne!(frame[udp + 6..udp + 8], [0, 0], "UDP checksum left out");
        pseudo.extend_from_slice(&[0, 17]);
        pseudo.extend_from_slice(&(udp_length as u16).to_be_bytes());
        pseudo.extend_from_slice(&frame[udp..]);
        assert_eq!(naive_sum(&pseudo), 0xffff, "UDP checksum");
    }

    fn specs() -> [FrameSpec; 4] {
        let v4 = FrameSpec {
            src: "10.0.0.250:1000-10.0.1.5:1002".parse().unwrap(),
            dst: "10.255.255.254-11.0.0.1".parse().unwrap(),
            ..FrameSpec::default()
        };
        let v6 = FrameSpec {
            src: "[2001:db8::fffe]:65534-[2001:db8::1:1]:65535".parse().unwrap(),
            dst: "[2001:db8:1::1]:7".parse().unwrap(),
            ..FrameSpec::default()
        };
        let vlan = Some(Vlan::new(100, 5).unwrap());
        [FrameSpec { vlan, ..v4.clone() }, FrameSpec { vlan, ..v6.clone() }, v4, v6]
    }

    #[test]
    fn default_frame_byte_by_byte() {
        let mut frame = [0xaa; 61];
        let mut template = Template::new(&FrameSpec::default()).unwrap();
        assert_eq!(template.write(&mut frame, 0x0102_0304_0506, 0x0a0b_0c0d_0e0f), 60);
        #[rustfmt::skip]
        let head = [
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 0, // Ethernet
            0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbd, 10, 0, 0, 1, 10, 1, 0, 1, // IPv4
            4, 0xd2, 4, 0xd2, 0, 26, // UDP up to its checksum
        ];
        assert_eq!(frame[..40], head);
        assert_eq!(frame[42..58], [0x52, 0x57, 0, 0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15]);
        assert_eq!(frame[60], 0xaa, "byte behind the frame");
        verify(&frame[..60], 14, false);
    }

    #[test]
    fn checksums_of_every_length() {
        for spec in specs() {
            for length in spec.minimum_length()..=1514 {
                let spec = FrameSpec { length, ..spec.clone() };
                let mut template = Template::new(&spec).unwrap();
                let mut buf = [0; 1514];
                for seq in 0..3 {
                    assert_eq!(template.write(&mut buf, seq, seq << 40), length);
                    verify(&buf[..length], spec.ip_offset(), spec.src.is_ipv6());
                    let tag = Tag { stream: 0, seq, time_ns: seq << 40 };
                    let expected = if template.is_tagged() { Ok(tag) } else { Err(NoTag::Foreign) };
                    assert_eq!(Tag::find(&buf[..length]), expected);
                }
            }
        }
    }

    #[test]
    fn longest_frames() {
        for spec in specs() {
            let spec = FrameSpec { length: MAX_LENGTH, ..spec };
            let mut buf = vec![0; MAX_LENGTH];
            Template::new(&spec).unwrap().write(&mut buf, 1, 2);
            verify(&buf, spec.ip_offset(), spec.src.is_ipv6());
        }
    }

    #[test]
    fn errors_name_headers_and_minimum() {
        let error = |spec: FrameSpec| Template::new(&spec).unwrap_err().to_string();
        let [v4_vlan, v6_vlan, v4, v6] = specs().map(|spec| error(FrameSpec { length: 41, ..spec }));
        assert_eq!(
            v4,
            "frame length 41 cannot hold Ethernet, IPv4 and UDP headers; minimum 42 (without FCS)"
        );
        assert!(v4_vlan.ends_with("Ethernet, VLAN, IPv4 and UDP headers; minimum 46 (without FCS)"));
        assert!(v6.ends_with("Ethernet, IPv6 and UDP headers; minimum 62 (without FCS)"));
        assert!(v6_vlan.ends_with("minimum 66 (without FCS)"));
        let spec = FrameSpec::default;
        assert!(error(FrameSpec { length: 65_536, ..spec() }).contains("above the maximum 65535"));
        assert!(error(FrameSpec { src: "::1".parse().unwrap(), ..spec() }).contains("not of one IP version"));
        assert!(error(FrameSpec { stream: MAX_STREAMS, ..spec() }).contains("not below 1024"));
    }

    #[test]
    fn vlan_forms() {
        assert_eq!("7".parse::<Vlan>().unwrap().control(), 7);
        assert_eq!("4094:7".parse::<Vlan>().unwrap().control(), 0xeffe);
        for bad in ["", "4095", "1:8", "x", "1:"] {
            assert!(bad.parse::<Vlan>().unwrap_err().to_string().contains("accepted: ID[:PRIORITY]"));
        }
    }

    #[test]
    fn macs_advance_on_their_own() {
        let spec = FrameSpec {
            src_mac: "02:00:00:00:00:01-02:00:00:00:00:02".parse().unwrap(),
            dst_mac: "04:00:00:00:00:01-04:00:00:00:00:03".parse().unwrap(),
            ..FrameSpec::default()
        };
        let mut template = Template::new(&spec).unwrap();
        let mut frame = [0; 60];
        let pairs: Vec<_> = (0..7)
            .map(|seq| {
                template.write(&mut frame, seq, 0);
                verify(&frame, 14, false);
                (frame[11], frame[5])
            })
            .collect();
        assert_eq!(pairs, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3), (1, 1)]);
    }

    #[test]
    fn random_ends_leave_the_other_end_its_order() {
        let spec = FrameSpec {
            src: EndpointRange::ANY_V4,
            src_order: Order::Random { seed: 1 },
            dst: "10.0.0.1:1-10.0.0.2:2".parse().unwrap(),
            ..FrameSpec::default()
        };
        let mut template = Template::new(&spec).unwrap();
        let mut frame = [0; 60];
        let mut sources = std::collections::HashSet::new();
        let mut ends = Vec::new();
        for seq in 0..5 {
            template.write(&mut frame, seq, 0);
            verify(&frame, 14, false);
            sources.insert(frame[26..30].to_vec());
            ends.push((frame[33], frame[37]));
        }
        assert_eq!(sources.len(), 5);
        assert_eq!(ends, [(1, 1), (1, 2), (2, 1), (2, 2), (1, 1)]);
    }

    #[test]
    fn udp_checksum_is_never_zero() {
        // One destination port makes the sum all ones; walk through all of them.
        let spec = FrameSpec { dst: "10.1.0.1:0-:65535".parse().unwrap(), ..FrameSpec::default() };
        let mut template = Template::new(&spec).unwrap();
        let mut frame = [0; 60];
        let mut all_ones = 0;
        for _ in 0..65_536 {
            template.write(&mut frame, 0, 0);
            verify(&frame, 14, false);
            all_ones += u32::from(frame[40..42] == [0xff, 0xff]);
        }
        assert!(all_ones > 0);
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn short_buffer_panics() {
        Template::new(&FrameSpec::default()).unwrap().write(&mut [0; 59], 0, 0);
    }

    proptest! {
        #[test]
        fn rewrite_equals_write_and_endpoints_nest(
            which in 0usize..4, length in 84usize..200, frames in 1u64..120, seq: u64, now: u64,
        ) {
            let spec = FrameSpec { length, ..specs()[which].clone() };
            let (mut whole, mut delta) = (Template::new(&spec).unwrap(), Template::new(&spec).unwrap());
            let mut src = EndpointWalk::new(&spec.src, Order::Nested);
            let mut dst = EndpointWalk::new(&spec.dst, Order::Nested);
            let (mut one, mut two) = ([0; 200], [0; 200]);
            for step in 0..frames {
                let (seq, now) = (seq.wrapping_add(step), now.wrapping_add(step * 67));
                whole.write(&mut one, seq, now);
                if step == 0 {
                    delta.write(&mut two, seq, now);
                } else {
                    delta.rewrite(&mut two, seq, now);
                }
                prop_assert_eq!(one, two);
                let (ip, ipv6) = (spec.ip_offset(), spec.src.is_ipv6());
                verify(&one[..length], ip, ipv6);
                let (at, width, udp) = if ipv6 { (ip + 8, 16, ip + 40) } else { (ip + 12, 4, ip + 20) };
                for (walk, at, port) in [(&src, at, udp), (&dst, at + width, udp + 2)] {
                    prop_assert_eq!(&one[at..at + width], &walk.bits().to_be_bytes()[16 - width..]);
                    prop_assert_eq!(&one[port..port + 2], walk.port().to_be_bytes());
                }
                if src.advance() {
                    dst.advance();
                }
            }
        }
    }

    /// Prints the cost per frame: `cargo test --release -p ringway-traffic -- --ignored --nocapture cost_per_frame`.
    #[test]
    #[ignore = "measurement, run in release"]
    fn cost_per_frame() {
        let fixed = FrameSpec::default();
        let ranges = FrameSpec { src: "10.0.0.1:1000-10.0.0.255:1010".parse().unwrap(), ..fixed.clone() };
        let random =
            FrameSpec { src: EndpointRange::ANY_V4, src_order: Order::Random { seed: 1 }, ..fixed.clone() };
        let v6 = FrameSpec {
            length: 80,
            src: "[2001:db8::1]:1000-[2001:db8::ff]:1010".parse().unwrap(),
            dst: "2001:db8::1".parse().unwrap(),
            ..fixed.clone()
        };
        let long = FrameSpec { length: 1514, ..fixed.clone() };
        let cases = [
            ("60 fixed", fixed),
            ("60 ranges", ranges),
            ("60 random", random),
            ("80 IPv6", v6),
            ("1514", long),
        ];
        for (name, spec) in cases {
            for (call, delta) in [("write", false), ("rewrite", true)] {
                let [least, median] = cost(&spec, delta);
                println!("{name} {call}: least {least:.1} median {median:.1} ns");
            }
        }
    }

    /// Least and median of 41 runs of 262,144 frames into 1024 buffers of 2048 bytes, nanoseconds per frame.
    fn cost(spec: &FrameSpec, delta: bool) -> [f64; 2] {
        const BUFFERS: usize = 1024;
        const ROUNDS: u64 = 256;
        let mut template = Template::new(spec).unwrap();
        let mut region = vec![0; BUFFERS * 2048];
        let mut seq = 0;
        for buf in region.chunks_exact_mut(2048) {
            template.write(buf, 0, 0);
        }
        let mut runs: Vec<f64> = (0..41)
            .map(|_| {
                let start = std::time::Instant::now();
                for round in 0..ROUNDS {
                    for buf in std::hint::black_box(&mut region).chunks_exact_mut(2048) {
                        if delta {
                            template.rewrite(buf, seq, round);
                        } else {
                            template.write(buf, seq, round);
                        }
                        seq += 1;
                    }
                }
                start.elapsed().as_nanos() as f64 / (ROUNDS as usize * BUFFERS) as f64
            })
            .collect();
        runs.sort_by(f64::total_cmp);
        [runs[0], runs[20]]
    }
}
