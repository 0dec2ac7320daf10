//! Super-frames of all kinds are cut, put together again by a slow model and checked by checksums of its own; any bytes
//! do no harm.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The Internet checksum as RFC 1071 tells it: words one by one, carries added in, complemented.
fn plain(words: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in words.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A frame to build: what varies.
#[derive(Debug, Clone)]
struct Spec {
    tags: usize,
    v6: bool,
    /// Bytes of IPv4 options or of an IPv6 hop-by-hop header; multiples of 8.
    extra: usize,
    /// Bytes of TCP options; `None` for UDP.
    tcp: Option<usize>,
    flags: u8,
    seq: u32,
    ident: u16,
    addresses: [u8; 32],
    payload: Vec<u8>,
    padding: usize,
}

fn spec() -> impl Strategy<Value = Spec> {
    let words = (any::<u8>(), any::<u32>(), any::<u16>(), any::<[u8; 32]>());
    let shape = (0usize..3, any::<bool>(), 0usize..3, proptest::option::of(0usize..=10));
    (shape, words, vec(any::<u8>(), 0..4000), 0usize..9).prop_map(
        |((tags, v6, extra, tcp), (flags, seq, ident, addresses), payload, padding)| {
            let (extra, tcp) = (8 * extra, tcp.map(|w| 4 * w));
            Spec { tags, v6, extra, tcp, flags, seq, ident, addresses, payload, padding }
        },
    )
}

/// Where the layers of a frame start.
#[derive(Debug, Clone, Copy)]
struct Places {
    net: usize,
    transport: usize,
    payload: usize,
    end: usize,
}

impl Spec {
    fn places(&self, payload: usize) -> Places {
        let net = 14 + 4 * self.tags;
        let transport = net + if self.v6 { 40 } else { 20 } + self.extra;
        let start = transport + self.tcp.map_or(8, |options| 20 + options);
        Places { net, transport, payload: start, end: start + payload }
    }

    fn protocol(&self) -> u8 {
        if self.tcp.is_some() { 6 } else { 17 }
    }

    fn checksum_at(&self) -> usize {
        if self.tcp.is_some() { 16 } else { 6 }
    }

    /// The pseudo header of a segment of `len` bytes.
    fn pseudo(&self, len: usize) -> Vec<u8> {
        let addresses = if self.v6 { &self.addresses[..] } else { &self.addresses[..8] };
        [addresses, &(len as u32).to_be_bytes(), &[0, 0, 0, self.protocol()]].concat()
    }

    /// The frame with `field` as its checksum.
    fn frame(&self, field: impl FnOnce(&[u8]) -> u16) -> Vec<u8> {
        let at = self.places(self.payload.len());
        let mut f = vec![2; 12];
        (0..self.tags).for_each(|k| f.extend([0x81, 0, 0, k as u8]));
        let (total, below) = ((at.end - at.net) as u16, (at.end - at.net - 40 * usize::from(self.v6)) as u16);
        if self.v6 {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            f.extend(below.to_be_bytes());
            f.extend([if self.extra > 0 { 0 } else { self.protocol() }, 64]);
            f.extend(self.addresses);
            if self.extra > 0 {
                f.extend([self.protocol(), (self.extra / 8 - 1) as u8]);
                f.resize(at.transport, 0);
            }
        } else {
            f.extend([8, 0, 0x45 + (self.extra / 4) as u8, 0]);
            f.extend(total.to_be_bytes());
            f.extend(self.ident.to_be_bytes());
            f.extend([0x40, 0, 64, self.protocol(), 0, 0]);
            f.extend(&self.addresses[..8]);
            f.resize(at.transport, 1);
            let sum = plain(&f[at.net..]);
            f[at.net + 10..at.net + 12].copy_from_slice(&sum.to_be_bytes());
        }
        f.extend([1, 2, 3, 4]);
        match self.tcp {
            Some(options) => {
                f.extend(self.seq.to_be_bytes());
                f.extend([9, 9, 9, 9, (5 + options as u8 / 4) << 4, self.flags, 1, 1, 0, 0, 0, 0]);
                f.resize(at.payload, 1);
            }
            None => {
                f.extend(((at.end - at.transport) as u16).to_be_bytes());
                f.extend([0, 0]);
            }
        }
        f.extend(&self.payload);
        let sum = field(&f[at.transport..]);
        let c = at.transport + self.checksum_at();
        f[c..c + 2].copy_from_slice(&sum.to_be_bytes());
        f.resize(at.end + self.padding, 0);
        f
    }

    /// As the kernel leaves it: the sum of the pseudo header.
    fn partial(&self) -> Vec<u8> {
        self.frame(|segment| !plain(&self.pseudo(segment.len())))
    }

    /// With its checksum finished.
    fn finished(&self) -> Vec<u8> {
        self.frame(|segment| match plain(&[&self.pseudo(segment.len()), segment].concat()) {
            0 if self.tcp.is_none() => 0xffff,
            c => c,
        })
    }

    fn is_right(&self, transport: &[u8]) -> bool {
        plain(&[&self.pseudo(transport.len()), transport].concat()) == 0
    }

    fn offload(&self, size: u16, partial: bool) -> Offload {
        let kind = match (self.tcp, self.v6) {
            (None, _) => SegmentKind::Udp,
            (_, false) => SegmentKind::Tcp4,
            (_, true) => SegmentKind::Tcp6,
        };
        let start = self.places(0).transport as u16;
        Offload {
            checksum: partial.then_some(PartialChecksum { start, offset: self.checksum_at() as u16 }),
            gso: Some(Segmentation { kind, size, header_len: 0, ecn: false }),
        }
    }

    /// Checks the segments one by one; returns their payloads joined.
    fn check(&self, segments: &Segments<'_>, size: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buf = vec![0xee; 70_000];
        let last = segments.count() - 1;
        for i in 0..=last {
            let len = segments.write(i, &mut buf).unwrap();
            assert_eq!((segments.len(i), segments.write(i, &mut buf[..len - 1])), (len, None));
            let (frame, at) = (&buf[..len], self.places(len - self.places(0).payload));
            let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
            assert_eq!(frame[..at.net], self.partial()[..at.net], "Ethernet and tags");
            if self.v6 {
                assert_eq!(usize::from(word(at.net + 4)), at.end - at.net - 40);
            } else {
                assert_eq!(usize::from(word(at.net + 2)), at.end - at.net);
                assert_eq!(word(at.net + 4), self.ident.wrapping_add(i as u16));
                assert_eq!(plain(&frame[at.net..at.transport]), 0);
            }
            if self.tcp.is_some() {
                let seq = u32::from_be_bytes(frame[at.transport + 4..][..4].try_into().unwrap());
                assert_eq!(seq, self.seq.wrapping_add((i * size) as u32));
                let expected =
                    self.flags & if i == 0 { 0xff } else { 0x7f } & if i == last { 0xff } else { 0xf6 };
                assert_eq!(frame[at.transport + 13], expected, "flags of {i} of {last}");
            } else {
                assert_eq!(usize::from(word(at.transport + 4)), len - at.transport);
                assert_ne!(word(at.transport + 6), 0, "a UDP checksum of 0 means none");
            }
            assert!(self.is_right(&frame[at.transport..]), "checksum of {i}");
            assert!(i == last || len - at.payload == size);
            all.extend_from_slice(&frame[at.payload..]);
        }
        assert_eq!((segments.len(last + 1), segments.write(last + 1, &mut buf)), (0, None));
        all
    }
}

proptest! {
    #[test]
    fn segments_hold_the_payload_once_and_are_right(spec in spec(), size in 1u16..2000, partial: bool) {
        let frame = if partial { spec.partial() } else { spec.finished() };
        let offload = spec.offload(size, partial);
        let segments = Segments::new(&frame, &offload).unwrap();
        prop_assert_eq!(segments.count(), spec.payload.len().div_ceil(size.into()).max(1));
        prop_assert_eq!(spec.check(&segments, size.into()), spec.payload);
    }

    #[test]
    fn unfinished_checksums_are_found_and_finished(spec in spec()) {
        let (finished, partial) = (spec.finished(), spec.partial());
        let mut found = partial.clone();
        prop_assert!(finish_if_partial(&mut found));
        let at = spec.places(spec.payload.len());
        prop_assert!(spec.is_right(&found[at.transport..at.end]));
        let mut told = partial;
        let c = spec.offload(1, true).checksum.unwrap();
        prop_assert!(finish_checksum(&mut told, c.start.into(), c.offset.into()));
        prop_assert_eq!(&told, &found, "zeros behind the frame do not count");
        // A finished one is left as it is, and one that has the value by chance stays right.
        let mut again = finished.clone();
        finish_if_partial(&mut again);
        prop_assert!(spec.is_right(&again[at.transport..at.end]));
        let differ = (0..again.len()).filter(|&k| again[k] != finished[k]).count();
        prop_assert!(differ == 0 || found[at.transport + spec.checksum_at()..][..2] == [0xff; 2]);
    }

    #[test]
    fn any_bytes_do_no_harm(
        head in vec(any::<u8>(), 0..120),
        spec in spec(),
        flips in vec((any::<u16>(), any::<u8>()), 0..6),
        metadata in any::<[u8; 10]>(),
        kind in 0usize..3,
        size: u16,
    ) {
        let mut near = spec.partial();
        for (at, bits) in flips {
            let at = usize::from(at) % near.len().min(120);
            near[at] ^= bits;
        }
        for mut frame in [head, near] {
            let len = frame.len();
            let kind = [SegmentKind::Tcp4, SegmentKind::Tcp6, SegmentKind::Udp][kind];
            let gso = Some(Segmentation { kind, size, header_len: 0, ecn: false });
            let parsed = Offload::parse(&metadata, len);
            for offload in parsed.into_iter().chain([Offload { checksum: None, gso }, spec.offload(size, true)]) {
                if let Ok(segments) = Segments::new(&frame, &offload) {
                    let mut buf = vec![0; 70_000];
                    for i in [0, 1, segments.count() / 2, segments.count() - 1, usize::MAX] {
                        let written = segments.write(i, &mut buf);
                        prop_assert!(written.is_none_or(|n| n == segments.len(i) && n <= len));
                    }
                }
                if let Some(c) = offload.checksum {
                    let _ = finish_checksum(&mut frame.clone(), c.start.into(), c.offset.into());
                }
            }
            let _ = finish_checksum(&mut frame.clone(), usize::MAX, usize::MAX);
            finish_if_partial(&mut frame);
            prop_assert_eq!(frame.len(), len);
        }
    }

    #[test]
    fn metadata_round_trip(metadata in any::<[u8; 10]>(), len in 0usize..70_000) {
        if let Ok(offload) = Offload::parse(&metadata, len) {
            let mut written = [0xee; 10];
            offload.write(&mut written);
            prop_assert_eq!(Offload::parse(&written, len), Ok(offload));
            match offload.to_word() {
                Some(word) => prop_assert_eq!(Offload::from_word(word, len), Ok(offload)),
                None => prop_assert!(offload.checksum.unwrap().offset > 4095),
            }
            let c = offload.checksum.unwrap_or(PartialChecksum { start: 0, offset: 0 });
            prop_assert!(offload.checksum.is_none() || usize::from(c.start) + usize::from(c.offset) + 2 <= len);
        }
    }

    #[test]
    fn any_word_is_refused_or_round_trips(word: u64, len in 0usize..70_000) {
        if let Ok(offload) = Offload::from_word(word, len) {
            let again = offload.to_word().unwrap();
            prop_assert_eq!(Offload::from_word(again, len), Ok(offload));
        }
    }

    #[test]
    fn a_tag_is_where_a_parser_finds_it(spec in spec(), tci: u16) {
        let mut buf = [vec![0; VLAN_LEN], spec.finished()].concat();
        prop_assert!(insert_vlan(&mut buf, tci, 0x88a8));
        let more = Spec { tags: spec.tags + 1, ..spec };
        let mut expected = more.finished();
        expected[12..16].copy_from_slice(&[0x88, 0xa8, (tci >> 8) as u8, tci as u8]);
        if spec.tags > 0 {
            expected[16..16 + 4 * spec.tags].copy_from_slice(&buf[16..16 + 4 * spec.tags]);
        }
        prop_assert_eq!(buf, expected);
    }
}

/// Fields in host byte order, as linux/virtio_net.h lays them out.
#[test]
fn known_metadata() {
    let words = |w: [u16; 4]| w.map(u16::to_ne_bytes).concat();
    let header = [&[1, 1][..], &words([66, 1448, 34, 16])].concat();
    let offload = Offload::parse(&header, 3000).unwrap();
    assert_eq!(offload.checksum, Some(PartialChecksum { start: 34, offset: 16 }));
    let gso = Segmentation { kind: SegmentKind::Tcp4, size: 1448, header_len: 66, ecn: false };
    assert_eq!(offload.gso, Some(gso));
    let moved = offload.moved(4);
    assert_eq!((moved.checksum.unwrap().start, moved.gso.unwrap().header_len), (38, 70));
    assert!(Offload::parse(&[2, 0, 9, 9, 9, 9, 9, 9, 9, 9], 60).unwrap().is_none(), "checksum was verified");
}

#[test]
fn hostile_metadata_is_refused_by_name() {
    let words = |w: [u16; 4]| w.map(u16::to_ne_bytes).concat();
    let parse = |flags: u8, kind: u8, w| Offload::parse(&[&[flags, kind][..], &words(w)].concat(), 100);
    assert_eq!(Offload::parse(&[0; 9], 100), Err(BadOffload::HeaderTruncated));
    assert!(parse(1, 0, [0, 0, 90, 8]).is_ok());
    assert_eq!(parse(1, 0, [0, 0, 90, 9]), Err(BadOffload::ChecksumOutside));
    assert_eq!(parse(1, 0, [0, 0, u16::MAX, u16::MAX]), Err(BadOffload::ChecksumOutside));
    assert_eq!(parse(0, 3, [0, 100, 0, 0]), Err(BadOffload::GsoKind), "UFO");
    assert_eq!(parse(0, 0x40, [0, 100, 0, 0]), Err(BadOffload::GsoKind));
    assert_eq!(parse(0, 1, [0, 0, 0, 0]), Err(BadOffload::GsoSize));
    assert_eq!(parse(0, 1, [101, 100, 0, 0]), Err(BadOffload::GsoHeader));
}

#[test]
fn frames_of_another_kind_are_not_cut() {
    let (tags, extra, padding) = (0, 0, 0);
    let (flags, seq, ident, addresses) = (0x10, 1, 1, [7; 32]);
    let udp = Spec {
        tags,
        v6: false,
        extra,
        tcp: None,
        flags,
        seq,
        ident,
        addresses,
        payload: vec![1; 99],
        padding,
    };
    let tcp = Spec { tcp: Some(0), ..udp.clone() };
    let frame = tcp.partial();
    assert!(Segments::new(&frame, &tcp.offload(10, true)).is_ok());
    let mut tunnel = tcp.offload(10, true);
    tunnel.checksum = Some(PartialChecksum { start: 54, offset: 16 });
    let six = Spec { v6: true, ..tcp.clone() }.offload(10, false);
    for wrong in [udp.offload(10, false), six, Offload::default(), tunnel] {
        assert_eq!(Segments::new(&frame, &wrong).unwrap_err(), BadOffload::NotSegmentable);
    }
    assert_eq!(Segments::new(&frame, &tcp.offload(0, false)).unwrap_err(), BadOffload::GsoSize);
    let mut fragment = frame;
    fragment[20] = 0x20;
    assert_eq!(Segments::new(&fragment, &tcp.offload(10, true)).unwrap_err(), BadOffload::NotSegmentable);
    assert!(!finish_if_partial(&mut fragment));
}

#[test]
fn udp_without_a_checksum_stays_without() {
    let (tags, extra, padding) = (1, 0, 0);
    let (flags, seq, ident, addresses) = (0, 1, 1, [7; 32]);
    let udp = Spec {
        tags,
        v6: false,
        extra,
        tcp: None,
        flags,
        seq,
        ident,
        addresses,
        payload: vec![1; 99],
        padding,
    };
    let mut frame = udp.frame(|_| 0);
    assert!(!finish_if_partial(&mut frame));
    let segments = Segments::new(&frame, &udp.offload(50, false)).unwrap();
    let mut buf = [0xee; 200];
    let len = segments.write(1, &mut buf).unwrap();
    assert_eq!((len, &buf[18 + 20 + 6..18 + 20 + 8]), (18 + 20 + 8 + 49, &[0, 0][..]));
}

#[test]
fn a_tag_needs_two_addresses() {
    assert!(!insert_vlan(&mut [0; 15], 1, 0x8100));
    assert!(insert_vlan(&mut [0; 16], 1, 0x8100));
}
