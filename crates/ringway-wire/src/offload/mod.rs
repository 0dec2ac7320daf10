//! What a sender left to be done on a frame: finish a checksum, cut a super-frame into segments, put a VLAN tag back.
//!
//! Linux hands frames between its own interfaces (veth, tap, bridges) as an interface with offloads
//! would get them. The TCP or UDP checksum holds only the sum of the pseudo header. One frame may
//! stand for dozens. The VLAN tag stands beside the bytes. A program that takes such frames has to
//! do that work before they reach a wire or a peer without offloads. Here it is, as functions over
//! bytes: no system call, no allocation, and no panic whatever the bytes are.
//!
//! | function | does |
//! | --- | --- |
//! | [`Offload`] | reads and writes the metadata: `struct virtio_net_hdr` of linux/virtio_net.h |
//! | [`finish_checksum`] | finishes the checksum that the metadata names |
//! | [`finish_if_partial`] | finds and finishes an unfinished checksum without metadata |
//! | [`Segments`] | cuts a super-frame into the frames that it stands for |
//! | [`insert_vlan`] | puts a tag back into the bytes |
//!
//! ```
//! use ringway_wire::offload::{Offload, Segments, finish_checksum};
//! fn each(frame: &mut [u8], metadata: &[u8], mut send: impl FnMut(&[u8])) -> Result<(), ringway_wire::offload::BadOffload> {
//!     let offload = Offload::parse(metadata, frame.len())?;
//!     if offload.gso.is_some() {
//!         let segments = Segments::new(frame, &offload)?;
//!         let mut buf = [0; 2048];
//!         for i in 0..segments.count() {
//!             let len = segments.write(i, &mut buf).expect("a segment fits the MTU");
//!             send(&buf[..len]);
//!         }
//!     } else {
//!         if let Some(sum) = offload.checksum {
//!             finish_checksum(frame, sum.start.into(), sum.offset.into());
//!         }
//!         send(frame);
//!     }
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

mod finish;
mod segments;
#[cfg(test)]
mod tests;

use std::fmt;

pub use finish::{finish_checksum, finish_if_partial};
pub use segments::Segments;

/// Work that the sender of a frame left to the interface, as plain data.
///
/// ```
/// use ringway_wire::offload::{Offload, PartialChecksum};
/// let left = Offload { checksum: Some(PartialChecksum { start: 34, offset: 16 }), gso: None };
/// let mut metadata = [0; Offload::HEADER_LEN];
/// left.write(&mut metadata);
/// assert_eq!(Offload::parse(&metadata, 60), Ok(left));
/// assert!(Offload::parse(&metadata, 51).is_err(), "the checksum would lie behind the frame");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// A checksum to finish.
    pub checksum: Option<PartialChecksum>,
    /// How to cut a super-frame into segments.
    pub gso: Option<Segmentation>,
}

/// A checksum that holds the sum of the pseudo header only (`CHECKSUM_PARTIAL` of linux/skbuff.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialChecksum {
    /// First byte of the frame that the checksum covers: the start of the TCP or UDP header.
    pub start: u16,
    /// Where the checksum stands, counted from `start`.
    pub offset: u16,
}

/// How a super-frame is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// The protocol to repeat the headers of.
    pub kind: SegmentKind,
    /// Bytes of payload in each segment but the last; never 0.
    pub size: u16,
    /// Bytes of headers, as a hint of the sender; [`Segments`] reads the headers themselves.
    pub header_len: u16,
    /// Whether the sender has ECN in use: congestion window reduced (CWR) goes with the first
    /// segment only.
    pub ecn: bool,
}

/// Protocols whose frames can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP datagrams of one size over either (USO), each with a header of its own; not fragments.
    Udp,
}

/// What becomes of super-frames that a port receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gso {
    /// They are cut into the frames that they stand for, with finished checksums: what a wire would have brought.
    #[default]
    Segment,
    /// They are received whole, unfinished, over several slots if need be: `RxFrame::offload` tells what
    /// is left to be done. Ports of a switch so receive what enters it at tc for them alone; who
    /// opens such a port next may find some that were not read. `forward` hands them on to `packet:` and `dpdk:` ports, and drops them as
    /// `bad_offload` where the other port is of another kind. Forwarding TCP between two hosts of one machine so takes a fraction of
    /// the work.
    Carry,
}

/// Why metadata, or a frame with it, is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadOffload {
    /// Fewer than [`Offload::HEADER_LEN`] bytes.
    HeaderTruncated,
    /// The checksum or its start lies outside the frame.
    ChecksumOutside,
    /// A kind of segmentation not known here, fragments of UDP (UFO) among them.
    GsoKind,
    /// Segments of no bytes.
    GsoSize,
    /// More header than frame.
    GsoHeader,
    /// The headers do not fit the kind of segmentation; they lie in a tunnel, for example.
    NotSegmentable,
}

impl fmt::Display for BadOffload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeaderTruncated => "offload metadata is truncated",
            Self::ChecksumOutside => "the checksum to finish lies outside the frame",
            Self::GsoKind => "unknown kind of segmentation",
            Self::GsoSize => "segments of no bytes",
            Self::GsoHeader => "more header than frame",
            Self::NotSegmentable => "the headers do not fit the kind of segmentation",
        })
    }
}

impl std::error::Error for BadOffload {}

/// Largest offset of a checksum that fits a word.
const MAX_WORD_OFFSET: u16 = 0xfff;

/// Values of `flags` and `gso_type` in linux/virtio_net.h.
const F_NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

impl Offload {
    /// Bytes of `struct virtio_net_hdr`, in host byte order: flags, gso_type, then 16 bits each of hdr_len, gso_size,
    /// csum_start, csum_offset. Packet sockets with `PACKET_VNET_HDR` and taps with `IFF_VNET_HDR` put it before a frame.
    pub const HEADER_LEN: usize = 10;

    /// Whether nothing is left to be done.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.checksum.is_none() && self.gso.is_none()
    }

    /// Reads the metadata of a frame of `frame_len` bytes. Flags without a duty (`DATA_VALID`) are ignored.
    ///
    /// # Errors
    /// [`BadOffload`] when a value is unknown or points outside the frame.
    #[inline]
    pub fn parse(header: &[u8], frame_len: usize) -> Result<Self, BadOffload> {
        let Some(h) = header.first_chunk::<{ Self::HEADER_LEN }>() else {
            return Err(BadOffload::HeaderTruncated);
        };
        if h[0] & F_NEEDS_CSUM == 0 && h[1] == GSO_NONE {
            return Ok(Self::default());
        }
        let word = |at: usize| u16::from_ne_bytes([h[at], h[at + 1]]);
        let checksum = if h[0] & F_NEEDS_CSUM == 0 {
            None
        } else {
            Some(PartialChecksum { start: word(6), offset: word(8) })
        };
        let gso = match h[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(SegmentKind::Tcp4),
            GSO_TCPV6 => Some(SegmentKind::Tcp6),
            GSO_UDP_L4 => Some(SegmentKind::Udp),
            _ => return Err(BadOffload::GsoKind),
        };
        let gso = gso.map(|kind| Segmentation {
            kind,
            size: word(4),
            header_len: word(2),
            ecn: h[1] & GSO_ECN != 0,
        });
        Self { checksum, gso }.checked(frame_len)
    }

    fn checked(self, frame_len: usize) -> Result<Self, BadOffload> {
        match self {
            Self { checksum: Some(c), .. }
                if usize::from(c.start) + usize::from(c.offset) + 2 > frame_len =>
            {
                Err(BadOffload::ChecksumOutside)
            }
            Self { gso: Some(g), .. } if g.size == 0 => Err(BadOffload::GsoSize),
            Self { gso: Some(g), .. } if usize::from(g.header_len) > frame_len => Err(BadOffload::GsoHeader),
            _ => Ok(self),
        }
    }

    /// All of it in one word, which 0 is for nothing; `None` for a checksum more than 4095 bytes behind its start.
    ///
    /// ```text
    /// bits 0-15 start   16-27 offset   28 checksum?   29 ECN?   30-31 kind   32-47 size   48-63 header
    /// ```
    #[must_use]
    pub fn to_word(&self) -> Option<u64> {
        let mut word = 0;
        if let Some(c) = self.checksum {
            if c.offset > MAX_WORD_OFFSET {
                return None;
            }
            word |= u64::from(c.start) | u64::from(c.offset) << 16 | 1 << 28;
        }
        if let Some(g) = self.gso {
            let kind = 1 + g.kind as u64;
            word |=
                u64::from(g.ecn) << 29 | kind << 30 | u64::from(g.size) << 32 | u64::from(g.header_len) << 48;
        }
        Some(word)
    }

    /// What [`to_word`](Self::to_word) made, checked as by [`parse`](Self::parse).
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_word(word: u64, frame_len: usize) -> Result<Self, BadOffload> {
        let partial = PartialChecksum { start: word as u16, offset: (word >> 16) as u16 & MAX_WORD_OFFSET };
        let kind = match word >> 30 & 3 {
            0 => None,
            1 => Some(SegmentKind::Tcp4),
            2 => Some(SegmentKind::Tcp6),
            _ => Some(SegmentKind::Udp),
        };
        let (size, header_len, ecn) = ((word >> 32) as u16, (word >> 48) as u16, word >> 29 & 1 != 0);
        let gso = kind.map(|kind| Segmentation { kind, size, header_len, ecn });
        Self { checksum: (word >> 28 & 1 != 0).then_some(partial), gso }.checked(frame_len)
    }

    /// Writes the metadata.
    pub fn write(&self, header: &mut [u8; Self::HEADER_LEN]) {
        *header = [0; Self::HEADER_LEN];
        let mut put = |at: usize, v: u16| header[at..at + 2].copy_from_slice(&v.to_ne_bytes());
        if let Some(g) = self.gso {
            put(2, g.header_len);
            put(4, g.size);
        }
        if let Some(c) = self.checksum {
            put(6, c.start);
            put(8, c.offset);
        }
        header[0] = if self.checksum.is_some() { F_NEEDS_CSUM } else { 0 };
        header[1] = self.gso.map_or(GSO_NONE, |g| {
            let kind = match g.kind {
                SegmentKind::Tcp4 => GSO_TCPV4,
                SegmentKind::Tcp6 => GSO_TCPV6,
                SegmentKind::Udp => GSO_UDP_L4,
            };
            kind | if g.ecn { GSO_ECN } else { 0 }
        });
    }

    /// The same work after `bytes` were inserted before the network header, such as the 4 of a VLAN tag.
    #[must_use]
    pub fn moved(self, bytes: u16) -> Self {
        let checksum = self.checksum.map(|c| PartialChecksum { start: c.start.saturating_add(bytes), ..c });
        let gso = self.gso.map(|g| Segmentation { header_len: g.header_len.saturating_add(bytes), ..g });
        Self { checksum, gso }
    }
}

/// Bytes of a VLAN tag.
pub const VLAN_LEN: usize = 4;

/// Bytes of the two addresses before a VLAN tag.
const ADDRESSES: usize = 12;

/// Puts a stripped VLAN tag back. `buf` is [`VLAN_LEN`] spare bytes and then the frame; afterwards all of it is the
/// tagged frame. Only the two addresses are moved. `tpid` is the type of the tag (0x8100, 0x88a8), `tci` its value.
/// Returns false, with nothing done, when `buf` is too short to hold two addresses.
///
/// ```
/// let mut buf = *b"....ddddddsssssseepayload";
/// assert!(ringway_wire::offload::insert_vlan(&mut buf, 0x2005, 0x8100));
/// assert_eq!(&buf, b"ddddddssssss\x81\x00\x20\x05eepayload");
/// ```
#[must_use]
pub fn insert_vlan(buf: &mut [u8], tci: u16, tpid: u16) -> bool {
    let Some(start) = buf.first_chunk_mut::<{ ADDRESSES + VLAN_LEN }>() else { return false };
    start.copy_within(VLAN_LEN.., 0);
    start[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
    start[ADDRESSES + 2..].copy_from_slice(&tci.to_be_bytes());
    true
}
