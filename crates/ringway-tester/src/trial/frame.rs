//! Test frames: Ethernet, up to two VLAN tags, IPv4 or IPv6, UDP, a tag, a fixed pattern.
//!
//! Addresses come from RFC 2544, C.2.2 (198.18.0.0/15, each side its half) and of RFC 5180 (2001:2::/48). The tag is
//! [`Tag`] where the payload has 18 bytes (IPv4 from 64 bytes, with FCS), else a compact one of 12:
//!
//! ```text
//!  0        2                 6                          12
//!  +--------+-----------------+--------------------------+
//!  | stream | sequence number | time, ns                 |    big-endian
//!  +--------+-----------------+--------------------------+
//!   16 bit   32 bit            48 bit
//! ```
//!
//! which fits IPv6 at 78 bytes and IPv4 with a VLAN tag at 64. The UDP checksum tells changed payloads, unless it is left out.

use std::net::{Ipv4Addr, Ipv6Addr};

use ringway_wire::MacAddr;

use super::flow::Flow;
use super::format::{COMPACT, FCS, Format, TIME_MASK, UDP, is_test_v4, is_test_v6};
use super::template::Template;
use ringway_traffic::bytes::{fold, get_u16, sum_bytes};
use ringway_traffic::tag::{Layers, Tag};

/// Writes frames of one stream.
#[derive(Clone, Debug)]
pub struct Writer {
    format: Format,
    macs: [[u8; 6]; 2],
    /// Where frames go by all means.
    gateway: Option<[u8; 6]>,
    stream: u16,
    /// Side that sends: 0 or 1.
    from: usize,
    /// By size, as far as it was asked for.
    templates: Vec<Option<Template>>,
}

impl Writer {
    /// Frames of `stream` from side `from` to the other one.
    ///
    /// # Errors
    /// When a MAC address can't be read.
    pub fn new(format: &Format, stream: u16, from: usize) -> Result<Self, String> {
        let mac = |text: &String| {
            text.parse::<MacAddr>().map(|mac| mac.0).map_err(|e| format!("MAC address '{text}': {e}"))
        };
        let macs = [mac(&format.macs[0])?, mac(&format.macs[1])?];
        let gateway = format.gateways.as_ref().map(|macs| mac(&macs[from & 1])).transpose()?;
        Ok(Self { format: format.clone(), macs, gateway, stream, from: from & 1, templates: Vec::new() })
    }

    /// Writes frame `seq` of `size` bytes, FCS included but not written, and returns its length.
    ///
    /// # Panics
    /// If `buf` is shorter than that, or the size was not [checked](Format::check).
    pub fn write(&mut self, buf: &mut [u8], seq: u64, now_ns: u64, size: u32) -> usize {
        let at = size as usize;
        if at >= self.templates.len() {
            self.templates.resize(at + 1, None);
        }
        let template = self.templates[at]
            .get_or_insert_with(|| Template::new(&self.format, self.macs, self.gateway, self.from, size));
        let frame = &mut buf[..at - FCS as usize];
        template.write(frame, &self.format.flows.of(seq), &Tag { stream: self.stream, seq, time_ns: now_ns });
        frame.len()
    }
}

/// The address of a flow on a side, where addresses vary. The sides keep apart.
pub(crate) fn varied(mac: [u8; 6], side: usize, flow: &Flow) -> [u8; 6] {
    let ([a, b, c, ..], [_, d, e, f]) = (mac, flow.mac.to_be_bytes());
    [a, b, c ^ side as u8, d, e, f]
}

/// What a received frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A test frame.
    Test {
        /// Stream.
        stream: u16,
        /// Sequence number.
        seq: u64,
        /// When it was sent, nanoseconds modulo 2^48.
        time_ns: u64,
    },
    /// A test frame that was changed on the way.
    Corrupted,
    /// Of somebody else.
    Foreign,
}

/// Looks at a received frame. `next` is the number that is expected about now: compact tags carry 32 bits of it.
#[must_use]
pub fn classify(frame: &[u8], next: u64) -> Kind {
    let Some(layers) = Layers::of(frame) else { return Kind::Foreign };
    let Some(udp) = frame.get(layers.udp..).filter(|udp| udp.len() >= 8) else { return Kind::Foreign };
    let ip = &frame[layers.ip..];
    if !from_test_block(ip, layers.ipv6) {
        return Kind::Foreign;
    }
    let length = usize::from(get_u16(udp, 4).unwrap_or(0));
    let Some(udp) = udp.get(..length).filter(|udp| udp.len() >= 8 + COMPACT) else { return Kind::Corrupted };
    let addresses = if layers.ipv6 { &ip[8..40] } else { &ip[12..20] };
    let sum = sum_bytes(addresses) + u64::from(UDP) + length as u64 + sum_bytes(udp);
    let checksum = get_u16(udp, 6).unwrap_or(0);
    if (checksum == 0 && layers.ipv6) || (checksum != 0 && fold(sum) != 0xffff) {
        return Kind::Corrupted;
    }
    let payload = &udp[8..];
    if payload.len() >= Tag::LEN {
        return match Tag::read(payload) {
            Ok(tag) => Kind::Test { stream: tag.stream, seq: tag.seq, time_ns: tag.time_ns },
            Err(_) => Kind::Corrupted,
        };
    }
    compact(payload, next)
}

fn compact(payload: &[u8], next: u64) -> Kind {
    let mut words = [0; 16];
    words[4..].copy_from_slice(&payload[..COMPACT]);
    let bits = u128::from_be_bytes(words);
    let low = (bits >> 48) as u32;
    // The number with these low bits that is nearest to the expected one.
    let ahead = low.wrapping_sub(next as u32) as i32;
    let seq = next.saturating_add_signed(ahead.into());
    Kind::Test { stream: (bits >> 80) as u16, seq, time_ns: bits as u64 & TIME_MASK }
}

fn from_test_block(ip: &[u8], ipv6: bool) -> bool {
    if ipv6 {
        let address = ip.get(8..24).and_then(|a| a.first_chunk::<16>());
        return ip.len() >= 40 && address.is_some_and(|&a| is_test_v6(Ipv6Addr::from(a)));
    }
    let address = ip.get(12..16).and_then(|a| a.first_chunk::<4>());
    ip.len() >= 20 && address.is_some_and(|&a| is_test_v4(Ipv4Addr::from(a)))
}

/// Age of a time stamp, picoseconds: negative when it lies in the future.
#[must_use]
pub fn age_ps(now_ns: u64, time_ns: u64) -> i64 {
    let ns = (now_ns.wrapping_sub(time_ns) << 16) as i64 >> 16;
    ns * 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::flow::{FlowOrder, Flows};
    use proptest::prelude::*;
    use ringway_wire::Transport;

    fn formats() -> Vec<Format> {
        let flows = Flows::new(5000, FlowOrder::Random, 4);
        let mut all = Vec::new();
        for ipv6 in [false, true] {
            for vlans in [vec![], vec![100], vec![7, 4094]] {
                all.push(Format { ipv6, vlans, vary_macs: ipv6, ..Format::new(flows) });
            }
        }
        all
    }

    #[test]
    fn smallest_sizes() {
        let least: Vec<u32> = formats().iter().map(Format::least).collect();
        assert_eq!(least, [64, 64, 66, 78, 82, 86]);
        let v4 = &formats()[0];
        assert!(v4.check(63, 1514).unwrap_err().contains("below 64"));
        assert!(v4.check(1519, 1514).unwrap_err().contains("longer than the port sends, 1518"));
        assert!(
            formats()[3]
                .check(77, 1514)
                .unwrap_err()
                .contains("no room for a tag with IPv6 and 0 VLAN tags; use 78")
        );
        assert_eq!(v4.check(1518, 1514), Ok(()));
    }

    proptest! {
        /// Frames are valid by the library's own parser, and read back, whatever the format and size.
        #[test]
        fn frames_are_valid_and_read_back(which in 0usize..6, more in 0u32..1500, seq in 0u64..1 << 47, time in 0u64..1 << 47) {
            let format = &formats()[which];
            let size = format.least() + more;
            let mut buf = [0xee; 2048];
            let mut writer = Writer::new(format, 3, which & 1).unwrap();
            let len = writer.write(&mut buf, seq, time, size);
            prop_assert_eq!(len as u32, size - FCS);
            prop_assert_eq!(buf[len], 0xee);
            let packet = ringway_wire::parse(&buf[..len]);
            prop_assert!(packet.malformed.is_none(), "{:?}", packet.malformed);
            prop_assert_eq!(packet.vlans().count(), format.vlans.len());
            prop_assert!(format.ipv6 || ringway_wire::checksum::of(&buf[format.ip_at()..][..20]) == 0);
            prop_assert!(matches!(packet.transport, Some(Transport::Udp(_))));
            prop_assert_eq!(classify(&buf[..len], seq + 9), Kind::Test { stream: 3, seq, time_ns: time });
        }

        /// No changed bit behind the Ethernet header goes unnoticed; only hop limit and header checksum may
        /// change.
        #[test]
        fn changed_payloads_are_noticed(which in 0usize..6, more in 0u32..300, bit: prop::sample::Index) {
            let format = &formats()[which];
            let mut buf = [0; 2048];
            let len = Writer::new(format, 0, 0).unwrap().write(&mut buf, 77, 5, format.least() + more);
            let bits = 8 * format.payload_at()..8 * len;
            let bit = bits.start + bit.index(bits.len());
            buf[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(classify(&buf[..len], 77), Kind::Corrupted);
        }

        #[test]
        fn any_bytes_are_safe(frame in proptest::collection::vec(any::<u8>(), 0..200), start in 0usize..3) {
            let mut frame = frame;
            if frame.len() > 30 {
                frame[12..15].copy_from_slice(&[[8, 0, 0x45], [0x86, 0xdd, 0x60], [0x81, 0, 0]][start]);
                frame[26..30].copy_from_slice(&[198, 18, 0, 1]);
            }
            let _ = classify(&frame, 0);
        }

        #[test]
        fn compact_numbers_are_extended(seq in 0u64..1 << 40, off in -1000i64..1000) {
            let format = Format { vlans: vec![1], ..Format::new(Flows::new(1, FlowOrder::Sequential, 0)) };
            let mut buf = [0; 64];
            let len = Writer::new(&format, 0, 0).unwrap().write(&mut buf, seq, 0, 64);
            let expected = seq.saturating_add_signed(off);
            prop_assert_eq!(classify(&buf[..len], expected), Kind::Test { stream: 0, seq, time_ns: 0 });
        }
    }

    #[test]
    fn frames_without_checksum_are_test_frames_too() {
        let format = Format { no_checksum: true, ..formats().remove(0) };
        for (ipv6, size) in [(false, 64), (true, 78)] {
            let mut buf = [0; 128];
            let len =
                Writer::new(&Format { ipv6, ..format.clone() }, 0, 0).unwrap().write(&mut buf, 7, 5, size);
            let at = format.payload_at() + if ipv6 { 20 } else { 0 };
            assert_eq!(buf[at - 2..at] == [0, 0], !ipv6, "{ipv6}");
            assert_eq!(classify(&buf[..len], 7), Kind::Test { stream: 0, seq: 7, time_ns: 5 });
        }
    }

    #[test]
    fn ages_are_signed_and_cross_the_wrap() {
        assert_eq!((age_ps(10, 4), age_ps(4, 10)), (6000, -6000));
        assert_eq!(age_ps(5, TIME_MASK), 6000);
    }

    #[test]
    fn routers_before_the_sides_are_sent_to() {
        let mut format = Format { vary_macs: true, ..formats().remove(0) };
        format.gateways = Some(["02:52:57:00:01:00", "02:52:57:00:01:01"].map(String::from));
        for from in 0..2 {
            let mut buf = [0; 64];
            Writer::new(&format, 0, from).unwrap().write(&mut buf, 9, 0, 64);
            assert_eq!(buf[..6], [2, 0x52, 0x57, 0, 1, from as u8]);
            assert_eq!(buf[6..8], [2, 0x52]);
        }
        format.gateways = Some(["1".into(), "2".into()]);
        assert!(Writer::new(&format, 0, 1).unwrap_err().contains("'2'"));
    }

    #[test]
    fn bad_addresses_are_named() {
        let mut format = formats().remove(0);
        format.macs[1] = "2:3".into();
        assert!(Writer::new(&format, 0, 0).unwrap_err().contains("'2:3'"));
        assert!(is_test_v4([198, 19, 255, 255].into()) && !is_test_v4([198, 20, 0, 0].into()));
        assert!(is_test_v6("2001:2::5".parse().unwrap()) && !is_test_v6("2001:2:1::5".parse().unwrap()));
    }
}
