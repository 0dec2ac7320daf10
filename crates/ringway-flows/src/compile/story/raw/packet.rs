//! The bytes of a raw packet, and where its fields are.

use super::super::compiler::Done;
use super::data::Piece;
use crate::code::{Field, Fill, MARKER};
use crate::lang::{Diagnostic, Ident};

/// The protocol behind the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
    Icmp,
    /// Nothing behind the IP header but data.
    Ip,
}

impl Protocol {
    /// The protocol of a word.
    pub(super) fn of(word: &Ident, _v4: bool) -> Done<Self> {
        match word.node.as_str() {
            "tcp" => Ok(Self::Tcp),
            "udp" => Ok(Self::Udp),
            "icmp" => Ok(Self::Icmp),
            "ip" => Ok(Self::Ip),
            other => {
                Err(Diagnostic::new(word.span, format!("there is no raw protocol `{other}`"), "unknown word")
                    .help("there are tcp, udp, icmp and ip"))
            }
        }
    }

    /// Its number.
    const fn number(self, v4: bool) -> u8 {
        match (self, v4) {
            (Self::Tcp, _) => 6,
            (Self::Udp, _) => 17,
            (Self::Icmp, true) => 1,
            (Self::Icmp, false) => 58,
            // Reserved for experiments.
            (Self::Ip, _) => 253,
        }
    }
}

/// Where fields are, in bytes from the start of the IP header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    protocol: Protocol,
    v4: bool,
    /// Length of the IP header.
    pub(super) network: usize,
    pub(super) source_port: Option<usize>,
    pub(super) target_port: Option<usize>,
    /// TCP flags.
    pub(super) flags: Option<usize>,
    /// Flags and offset of fragments, of IPv4.
    pub(super) fragment: Option<usize>,
    /// The length of the header of TCP, or of IPv4 for others.
    pub(super) header_length: Option<usize>,
    /// The checksum of the protocol.
    pub(super) sum: Option<usize>,
}

impl Layout {
    /// Where things are in a packet of a protocol.
    fn new(protocol: Protocol, v4: bool) -> Self {
        let network = if v4 { 20 } else { 40 };
        let ports = matches!(protocol, Protocol::Tcp | Protocol::Udp);
        let tcp = protocol == Protocol::Tcp;
        let sum = match protocol {
            Protocol::Tcp => Some(network + 16),
            Protocol::Udp => Some(network + 6),
            Protocol::Icmp => Some(network + 2),
            Protocol::Ip => None,
        };
        Self {
            protocol,
            v4,
            network,
            source_port: ports.then_some(network),
            target_port: ports.then_some(network + 2),
            flags: tcp.then_some(network + 13),
            fragment: v4.then_some(6),
            header_length: if tcp { Some(network + 12) } else { v4.then_some(0) },
            sum,
        }
    }

    /// The offset and width of a field that has whole bytes.
    pub(super) fn field(&self, word: &str) -> Option<(usize, u8)> {
        let at = self.network;
        let is = |protocol| self.protocol == protocol;
        match word {
            "ttl" => Some((if self.v4 { 8 } else { 7 }, 1)),
            "protocol" if is(Protocol::Ip) => Some((if self.v4 { 9 } else { 6 }, 1)),
            "total_length" => Some((if self.v4 { 2 } else { 4 }, 2)),
            "seq" if is(Protocol::Tcp) => Some((at + 4, 4)),
            "ack" if is(Protocol::Tcp) => Some((at + 8, 4)),
            "window" if is(Protocol::Tcp) => Some((at + 14, 2)),
            "urgent" if is(Protocol::Tcp) => Some((at + 18, 2)),
            "udp_length" if is(Protocol::Udp) => Some((at + 4, 2)),
            "type" if is(Protocol::Icmp) => Some((at, 1)),
            "code" if is(Protocol::Icmp) => Some((at + 1, 1)),
            _ => None,
        }
    }
}

/// A packet while it is made.
pub(super) struct Packet {
    pub(super) bytes: Vec<u8>,
    pub(super) fields: Vec<Field>,
    pub(super) layout: Layout,
    /// It is a later fragment, whose checksum is not its own.
    pub(super) fragment: bool,
    /// Only so many bytes are sent.
    pub(super) keep: Option<usize>,
}

impl Packet {
    /// A packet of a protocol with data.
    pub(super) fn new(protocol: Protocol, v4: bool, mut options: Vec<u8>, data: Vec<Piece>) -> Self {
        let layout = Layout::new(protocol, v4);
        let mut bytes = network_header(protocol, v4);
        options.resize(options.len().next_multiple_of(4), 0);
        match protocol {
            Protocol::Tcp => {
                let mut header = [0u8; 20];
                header[12] = (((20 + options.len()) / 4) << 4) as u8;
                header[14..16].copy_from_slice(&65_535u16.to_be_bytes());
                bytes.extend(header);
                bytes.extend(options);
            }
            Protocol::Udp => bytes.extend([0; 8]),
            Protocol::Icmp => bytes.extend([if v4 { 8 } else { 128 }, 0, 0, 0, 0, 0, 0, 0]),
            Protocol::Ip => {}
        }
        let mut packet = Self { bytes, fields: Vec::new(), layout, fragment: false, keep: None };
        for piece in data {
            packet.append(piece);
        }
        packet.lengths();
        packet
    }

    /// Appends a piece of data.
    fn append(&mut self, piece: Piece) {
        let offset = self.bytes.len();
        let (width, fill) = match piece {
            Piece::Bytes(bytes) => return self.bytes.extend(bytes),
            Piece::Letters(count) => (count, Fill::Letters),
            Piece::Random(count) => (count, Fill::Random),
        };
        self.bytes.extend(std::iter::repeat_n(b'a', usize::from(width)));
        self.fields.push(Field { offset: offset as u16, width, fill });
    }

    /// Fills in the lengths.
    fn lengths(&mut self) {
        let (total, network) = (self.bytes.len(), self.layout.network);
        if self.layout.v4 {
            self.bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        } else {
            self.bytes[4..6].copy_from_slice(&((total - network) as u16).to_be_bytes());
        }
        if self.layout.protocol == Protocol::Udp {
            self.bytes[network + 4..network + 6].copy_from_slice(&((total - network) as u16).to_be_bytes());
        }
    }

    /// Sets a field, to a number or to something that changes.
    pub(super) fn set(&mut self, offset: usize, width: u8, value: Result<u64, Fill>) {
        let range = offset..offset + usize::from(width);
        match value {
            Ok(number) => self.bytes[range].copy_from_slice(&number.to_be_bytes()[8 - usize::from(width)..]),
            Err(fill) => {
                self.fields.retain(|field| usize::from(field.offset) != offset);
                self.fields.push(Field { offset: offset as u16, width, fill });
            }
        }
    }
}

/// The IP header, with the marker and without addresses, lengths and checksum.
fn network_header(protocol: Protocol, v4: bool) -> Vec<u8> {
    let marker = MARKER.to_be_bytes();
    if v4 {
        let mut header = vec![0x45, 0, 0, 0, marker[0], marker[1], 0, 0, 64, protocol.number(true), 0, 0];
        header.resize(20, 0);
        return header;
    }
    let mut header = vec![0x60, 0, marker[0], marker[1], 0, 0, protocol.number(false), 64];
    header.resize(40, 0);
    header
}
