//! Tests across protocols: round trips, hostile bytes, captures.

use std::cell::Cell;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{env, fs};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Everything a round trip sets and reads back.
#[derive(Debug, Clone)]
struct Spec {
    macs: ([u8; 6], [u8; 6]),
    vids: Vec<u16>,
    v6: bool,
    addresses: ([u8; 16], [u8; 16]),
    kind: Kind,
    ports: (u16, u16),
    words: (u32, u32),
    payload: Vec<u8>,
    padding: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Udp,
    Tcp { options_len: usize },
    Echo,
}

impl Spec {
    fn transport_len(&self) -> usize {
        let header = match self.kind {
            Kind::Udp | Kind::Echo => 8,
            Kind::Tcp { options_len } => 20 + options_len,
        };
        header + self.payload.len()
    }

    fn net_offset(&self) -> usize {
        14 + 4 * self.vids.len()
    }

    fn protocol(&self) -> IpProtocol {
        match self.kind {
            Kind::Udp => IpProtocol::UDP,
            Kind::Tcp { .. } => IpProtocol::TCP,
            Kind::Echo if self.v6 => IpProtocol::ICMPV6,
            Kind::Echo => IpProtocol::ICMP,
        }
    }

    fn v4_addresses(&self) -> ([u8; 4], [u8; 4]) {
        (bytes::array(&self.addresses.0, 0), bytes::array(&self.addresses.1, 0))
    }

    /// Builds into a buffer full of old bytes, so that a field left unset is noticed.
    fn build(&self) -> Vec<u8> {
        let net_len = if self.v6 { 40 } else { 20 } + self.transport_len();
        let mut frame = vec![0xe5; self.net_offset() + net_len + self.padding];
        self.build_link(&mut frame);
        let net = &mut frame[self.net_offset()..];
        if self.v6 {
            self.build_v6(net)
        } else {
            self.build_v4(net)
        }
        frame
    }

    fn build_link(&self, frame: &mut [u8]) {
        let net_type = if self.v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let type_after = |tags: usize| if tags == self.vids.len() { net_type } else { EtherType::VLAN };
        let mut eth = Ethernet::new_checked(frame).unwrap();
        eth.set_dst(self.macs.0.into());
        eth.set_src(self.macs.1.into());
        eth.set_ethertype(type_after(0));
        let mut rest = eth.payload_mut();
        for (index, &vid) in self.vids.iter().enumerate() {
            let mut tag = Vlan::new_checked(&mut rest[..]).unwrap();
            tag.set_vid(vid);
            tag.set_ethertype(type_after(index + 1));
            rest = &mut rest[4..];
        }
    }

    fn build_v4(&self, net: &mut [u8]) {
        let mut ip = Ipv4::init(net, self.transport_len()).unwrap();
        ip.set_src(self.v4_addresses().0.into());
        ip.set_dst(self.v4_addresses().1.into());
        ip.set_protocol(self.protocol());
        ip.fill_checksum();
        let pseudo = ip.pseudo_header();
        self.build_transport(ip.payload_mut(), pseudo);
    }

    fn build_v6(&self, net: &mut [u8]) {
        let mut ip = Ipv6::init(net, self.transport_len()).unwrap();
        ip.set_src(self.addresses.0.into());
        ip.set_dst(self.addresses.1.into());
        ip.set_next_header(self.protocol());
        let pseudo = ip.pseudo_header();
        self.build_transport(ip.payload_mut(), pseudo);
    }

    fn build_transport(&self, segment: &mut [u8], pseudo: checksum::PseudoHeader) {
        match self.kind {
            Kind::Udp => {
                let mut udp = Udp::init(segment, self.payload.len()).unwrap();
                udp.set_src_port(self.ports.0);
                udp.set_dst_port(self.ports.1);
                udp.payload_mut().copy_from_slice(&self.payload);
                udp.fill_checksum(pseudo);
            }
            Kind::Tcp { options_len } => {
                let mut tcp = Tcp::init(segment, options_len).unwrap();
                tcp.set_src_port(self.ports.0);
                tcp.set_dst_port(self.ports.1);
                tcp.set_seq(self.words.0);
                tcp.set_ack(self.words.1);
                tcp.set_flags(TcpFlags(self.words.0 as u8));
                tcp.set_window(self.ports.0);
                tcp.options_mut().fill(1);
                tcp.payload_mut().copy_from_slice(&self.payload);
                tcp.fill_checksum(pseudo);
            }
            Kind::Echo => {
                let request = if self.v6 { icmp::v6::ECHO_REQUEST } else { icmp::v4::ECHO_REQUEST };
                let mut echo = IcmpEcho::init(segment, request).unwrap();
                echo.set_ident(self.ports.0);
                echo.set_seq(self.ports.1);
                echo.payload_mut().copy_from_slice(&self.payload);
                if self.v6 { echo.fill_checksum_v6(pseudo) } else { echo.fill_checksum_v4() }
            }
        }
    }

    fn check(&self, packet: &Packet<'_>) {
        assert_eq!(packet.malformed, None);
        let eth = packet.ethernet.unwrap();
        assert_eq!((eth.dst().0, eth.src().0), self.macs);
        assert!(packet.vlans().map(|tag| tag.vid()).eq(self.vids.iter().copied()));
        assert_eq!(packet.net_offset, self.net_offset());
        assert_eq!(packet.transport_offset, self.net_offset() + if self.v6 { 40 } else { 20 });
        let pseudo = self.check_net(packet);
        self.check_transport(packet, pseudo);
    }

    fn check_net(&self, packet: &Packet<'_>) -> checksum::PseudoHeader {
        assert_eq!((packet.protocol, packet.is_fragment), (Some(self.protocol()), false));
        match packet.net.unwrap() {
            Net::Ipv4(ip) if !self.v6 => {
                assert_eq!((ip.src().octets(), ip.dst().octets()), self.v4_addresses());
                assert!(ip.verify_checksum());
                ip.pseudo_header()
            }
            Net::Ipv6(ip) if self.v6 => {
                assert_eq!((ip.src().octets(), ip.dst().octets()), self.addresses);
                ip.pseudo_header()
            }
            other => panic!("wrong network layer {other:?}"),
        }
    }

    fn check_transport(&self, packet: &Packet<'_>, pseudo: checksum::PseudoHeader) {
        match (self.kind, packet.transport.unwrap()) {
            (Kind::Udp, Transport::Udp(udp)) => {
                assert_eq!((udp.src_port(), udp.dst_port()), self.ports);
                assert!(udp.checksum() != 0 && udp.verify_checksum(pseudo));
                assert_eq!(packet.payload, self.payload);
            }
            (Kind::Tcp { options_len }, Transport::Tcp(tcp)) => {
                assert_eq!((tcp.src_port(), tcp.dst_port()), self.ports);
                assert_eq!((tcp.seq(), tcp.ack()), self.words);
                assert_eq!((tcp.flags(), tcp.window()), (TcpFlags(self.words.0 as u8), self.ports.0));
                assert_eq!(tcp.options(), vec![1; options_len]);
                assert!(tcp.verify_checksum(pseudo));
                assert_eq!(packet.payload, self.payload);
            }
            (Kind::Echo, Transport::Icmpv4(icmp) | Transport::Icmpv6(icmp)) => {
                let echo = IcmpEcho::new_checked(icmp.into_inner()).unwrap();
                assert_eq!((echo.ident(), echo.seq()), self.ports);
                assert_eq!(echo.payload(), self.payload);
                assert!(if self.v6 { icmp.verify_checksum_v6(pseudo) } else { icmp.verify_checksum_v4() });
            }
            (kind, other) => panic!("{kind:?} came back as {other:?}"),
        }
    }
}

/// Memory that somebody else rewrites: it has the length of `before` and, once changed, other contents.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shared<'a> {
    before: &'a [u8],
    after: &'a [u8],
    changed: &'a Cell<bool>,
}

impl AsRef<[u8]> for Shared<'_> {
    fn as_ref(&self) -> &[u8] {
        if self.changed.get() { &self.after[..self.before.len()] } else { self.before }
    }
}

fn spec() -> impl Strategy<Value = Spec> {
    let kind = prop_oneof![
        Just(Kind::Udp),
        (0usize..=10).prop_map(|words| Kind::Tcp { options_len: words * 4 }),
        Just(Kind::Echo)
    ];
    let link = (any::<([u8; 6], [u8; 6])>(), vec(0u16..4096, 0..=MAX_VLAN_TAGS));
    let net = (any::<bool>(), any::<([u8; 16], [u8; 16])>());
    let transport = (kind, any::<(u16, u16)>(), any::<(u32, u32)>());
    (link, net, transport, vec(any::<u8>(), 0..200), 0usize..30).prop_map(
        |((macs, vids), (v6, addresses), (kind, ports, words), payload, padding)| Spec {
            macs,
            vids,
            v6,
            addresses,
            kind,
            ports,
            words,
            payload,
            padding,
        },
    )
}

/// Calls every getter of what was recognised and checks that all slices lie within the frame.
fn exercise(frame: &[u8]) -> Packet<'_> {
    let packet = parse(frame);
    let inside = |part: &[u8]| {
        let (outer, inner) = (frame.as_ptr_range(), part.as_ptr_range());
        assert!(part.is_empty() || outer.start <= inner.start && inner.end <= outer.end);
    };
    inside(packet.payload);
    assert!(packet.net_offset <= frame.len() && packet.transport_offset <= frame.len());
    assert_eq!(packet.ethernet.is_none(), packet.malformed == Some(Malformed::EthernetTruncated));
    assert!(packet.net.is_some() || packet.transport.is_none());
    let pseudo = match packet.net {
        Some(Net::Ipv4(ip)) => {
            inside(ip.options());
            inside(ip.payload());
            ip.verify_checksum();
            ip.pseudo_header()
        }
        Some(Net::Ipv6(ip)) => {
            inside(ip.payload());
            ip.pseudo_header()
        }
        _ => checksum::PseudoHeader::v4([0; 4].into(), [0; 4].into()),
    };
    match packet.transport {
        Some(Transport::Udp(udp)) => {
            inside(udp.payload());
            udp.verify_checksum(pseudo);
        }
        Some(Transport::Tcp(tcp)) => {
            inside(tcp.options());
            inside(tcp.payload());
            tcp.verify_checksum(pseudo);
        }
        Some(Transport::Icmpv4(icmp) | Transport::Icmpv6(icmp)) => {
            inside(icmp.payload());
            icmp.verify_checksum_v6(pseudo);
        }
        None => {}
    }
    // The summary and Debug read every field that `parse` left in view.
    let mut text = String::new();
    write!(text, "{packet} {packet:?}").unwrap();
    packet
}

proptest! {
    #[test]
    fn build_and_parse_round_trip(spec in spec()) {
        spec.check(&exercise(&spec.build()));
    }

    #[test]
    fn any_prefix_of_a_frame_is_handled(spec in spec(), cut: prop::sample::Index) {
        let frame = spec.build();
        exercise(&frame[..cut.index(frame.len())]);
    }

    #[test]
    fn damaged_frames_are_handled(spec in spec(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut frame = spec.build();
        let headers = frame.len().min(80);
        for (at, byte) in damage {
            frame[at.index(headers)] = byte;
        }
        exercise(&frame);
    }

    #[test]
    fn random_bytes_are_handled(bytes in vec(any::<u8>(), 0..200), ethertype in 0usize..6) {
        let mut frame = bytes;
        if frame.len() >= 14 {
            let types = [[8, 0], [0x86, 0xdd], [8, 6], [0x81, 0], [0x88, 0xa8], [frame[12], frame[13]]];
            frame[12..14].copy_from_slice(&types[ethertype]);
        }
        exercise(&frame);
    }

    /// Lengths are read once: bytes that change under a view move no bounds and cause no panic.
    #[test]
    fn views_survive_changed_bytes(spec in spec(), noise in vec(any::<u8>(), 600)) {
        let frame = spec.build();
        let changed = Cell::new(false);
        let shared = |range: Range<usize>| Shared { before: &frame[range], after: &noise, changed: &changed };
        let segment_at = spec.net_offset() + if spec.v6 { 40 } else { 20 };
        let packet = shared(spec.net_offset()..frame.len());
        let segment = shared(segment_at..segment_at + spec.transport_len());
        let (v4, v6) = (Ipv4::new_checked(packet), Ipv6::new_checked(packet));
        let (udp, tcp) = (Udp::new_checked(segment), Tcp::new_checked(segment));
        let lengths = || {
            let net = (v4.map(|ip| ip.payload().len()), v6.map(|ip| ip.payload().len()));
            (net, udp.map(|udp| udp.payload().len()), tcp.map(|tcp| (tcp.options().len(), tcp.payload().len())))
        };
        let before = lengths();
        changed.set(true);
        prop_assert_eq!(lengths(), before);
        let _ = v6.map(|ip| ip.upper_layer());
        let _ = v4.map(|ip| (ip.verify_checksum(), udp.map(|udp| udp.verify_checksum(ip.pseudo_header()))));
    }

    /// A router changes TTL and, with address translation, an address: both sums must follow.
    #[test]
    fn rewriting_updates_both_checksums(mut spec in spec(), new: [u8; 4], hops in 2u8..) {
        spec.v6 = false;
        spec.kind = Kind::Tcp { options_len: 0 };
        let mut frame = spec.build();
        let mut ip = Ipv4::new_checked(&mut frame[spec.net_offset()..]).unwrap();
        ip.set_ttl(hops);
        ip.fill_checksum();
        prop_assert_eq!(ip.decrement_ttl(), Some(hops - 1));
        prop_assert!(ip.verify_checksum());

        let (old, new) = (u32::from(ip.src()), u32::from_be_bytes(new));
        ip.set_src(new.into());
        ip.set_checksum(checksum::update_u32(ip.checksum(), old, new));
        let pseudo = ip.pseudo_header();
        prop_assert!(ip.verify_checksum());
        let mut tcp = Tcp::new_checked(ip.payload_mut()).unwrap();
        tcp.set_checksum(checksum::update_u32(tcp.checksum(), old, new));
        prop_assert!(tcp.verify_checksum(pseudo));
    }
}

/// Every frame of every capture goes through the parser, whatever its link type says. Real traffic also judges
/// the checksum code: offload leaves some sums unfilled at the sender, but nearly all must be right.
#[test]
fn captures_are_handled() {
    let Some(root) = capture_root() else {
        eprintln!(
            "SKIP captures_are_handled: no captures found, set RINGWAY_DATA to the folder that holds pcap/"
        );
        return;
    };
    for folder in ["real", "hostile"] {
        let (mut frames, mut malformed, mut transports, mut right) = (0, 0, 0, 0);
        for file in captures(&root.join(folder)) {
            for frame in records(&fs::read(&file).unwrap()) {
                let packet = exercise(frame);
                frames += 1;
                malformed += usize::from(packet.malformed.is_some());
                transports += usize::from(packet.transport.is_some());
                right += usize::from(checksums_are_right(&packet));
            }
        }
        println!(
            "{folder}: {frames} frames, {malformed} malformed, {transports} with transport, {right} sums right"
        );
        assert!(transports > 0, "no frame of {folder} was recognised");
        assert!(folder == "hostile" || right * 10 > transports * 9, "checksums of {folder} do not verify");
    }
}

fn checksums_are_right(packet: &Packet<'_>) -> bool {
    let pseudo = match packet.net {
        Some(Net::Ipv4(ip)) if ip.verify_checksum() => ip.pseudo_header(),
        Some(Net::Ipv6(ip)) => ip.pseudo_header(),
        _ => return false,
    };
    match packet.transport {
        Some(Transport::Udp(udp)) => udp.verify_checksum(pseudo),
        Some(Transport::Tcp(tcp)) => tcp.verify_checksum(pseudo),
        Some(Transport::Icmpv4(icmp)) => icmp.verify_checksum_v4(),
        Some(Transport::Icmpv6(icmp)) => icmp.verify_checksum_v6(pseudo),
        None => false,
    }
}

/// `$RINGWAY_DATA/pcap`, or `shared/data/pcap` beside the workspace.
fn capture_root() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = env::var_os("RINGWAY_DATA").map_or(beside, PathBuf::from);
    Some(data.join("pcap")).filter(|root| root.is_dir())
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ext| ext == "pcap")).collect()
}

/// Records of a classic capture of either byte order; a last record cut short is returned as far as it goes.
fn records(file: &[u8]) -> Vec<&[u8]> {
    let little = match file.get(..4) {
        Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]) => true,
        Some([0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) => false,
        _ => return Vec::new(),
    };
    let mut rest = file.get(24..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some((header, data)) = rest.split_at_checked(16) {
        let captured = bytes::array(header, 8);
        let captured = if little { u32::from_le_bytes(captured) } else { u32::from_be_bytes(captured) };
        let (frame, after) = data.split_at(data.len().min(captured as usize));
        found.push(frame);
        rest = after;
    }
    found
}

#[test]
fn capture_reader_knows_both_orders() {
    for (magic, len) in [([0xd4, 0xc3, 0xb2, 0xa1], [3, 0, 0, 0]), ([0xa1, 0xb2, 0x3c, 0x4d], [0, 0, 0, 3])] {
        let mut file = [&magic[..], &[0; 20]].concat();
        for cut in [3, 2] {
            file.extend([&[0; 8][..], &len, &len, &[7; 3][..cut]].concat());
        }
        assert_eq!(records(&file), [&[7; 3][..], &[7; 2]]);
    }
    assert!(records(b"not a capture").is_empty());
}
