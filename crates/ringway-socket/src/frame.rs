//! A received frame as a packet socket shows it: an outer VLAN tag beside the bytes, and what the address tells.

use std::time::Duration;

/// `ETH_P_ALL` and the protocols of frames whose type is a length, of linux/if_ether.h.
pub(crate) const ALL: u16 = 3;
const RAW_802_3: u16 = 1;
const LLC_802_2: u16 = 4;

/// Bytes of an Ethernet header.
pub(crate) const HEADER: usize = 14;

const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// A frame without its outer tag, which `vlan` has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) meta: Meta,
}

/// What goes with the bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Tag control information and protocol of the outer tag.
    pub(crate) vlan: Option<(u16, u16)>,
    pub(crate) protocol: u16,
    /// `PACKET_HOST` and the like.
    pub(crate) kind: u8,
    /// Since 1970.
    pub(crate) stamp: Duration,
    /// Bytes that the filter wants.
    pub(crate) snap: usize,
}

impl<'a> Frame<'a> {
    /// `None` for less than a header. A tagged frame is copied to `scratch` without its tag. `own` is the address of the
    /// interface.
    #[inline]
    pub(crate) fn read(
        bytes: &'a [u8],
        own: [u8; 6],
        stamp: Duration,
        scratch: &'a mut Vec<u8>,
    ) -> Option<Self> {
        let kind = kind_of(bytes.first_chunk()?, own);
        let mut protocol = word(bytes, 12)?;
        let (mut vlan, mut bytes) = (None, bytes);
        if TAGS.contains(&protocol)
            && let (Some(tci), Some(inner)) = (word(bytes, 14), word(bytes, 16))
        {
            vlan = Some((tci, protocol));
            scratch.clear();
            scratch.extend_from_slice(&bytes[..12]);
            scratch.extend_from_slice(&bytes[16..]);
            (bytes, protocol) = (scratch, inner);
        }
        if protocol < 0x600 {
            protocol = if word(bytes, 14) == Some(0xffff) { RAW_802_3 } else { LLC_802_2 };
        }
        Some(Self { bytes, meta: Meta { vlan, protocol, kind, stamp, snap: bytes.len() } })
    }

    pub(crate) fn source(&self) -> [u8; 6] {
        self.bytes.get(6..12).and_then(|s| s.try_into().ok()).unwrap_or_default()
    }
}

fn kind_of(to: &[u8; 6], own: [u8; 6]) -> u8 {
    match to {
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => libc::PACKET_BROADCAST,
        [first, ..] if first & 1 != 0 => libc::PACKET_MULTICAST,
        to if *to == own => libc::PACKET_HOST,
        _ => libc::PACKET_OTHERHOST,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(Meta, Vec<u8>)> {
        let mut scratch = Vec::new();
        let f = Frame::read(bytes, [2, 0, 0, 0, 0, 1], Duration::ZERO, &mut scratch)?;
        Some((f.meta, f.bytes.to_vec()))
    }

    #[test]
    fn an_outer_tag_stands_beside_the_bytes() {
        let tagged = [&[2, 0, 0, 0, 0, 1][..], &[4; 6], &[0x81, 0, 0x20, 7, 8, 0], &[9; 46]].concat();
        let (meta, bytes) = read(&tagged).expect("a frame");
        assert_eq!((meta.vlan, meta.protocol, meta.kind), (Some((0x2007, 0x8100)), 0x800, libc::PACKET_HOST));
        assert_eq!(bytes, [&tagged[..12], &tagged[16..]].concat());
        assert_eq!(read(&tagged[..16]).expect("a header").0.vlan, None, "a tag that is cut off is content");
    }

    #[test]
    fn kinds_and_protocols() {
        let of = |to: [u8; 6], kind: [u8; 2], next: u8| {
            let (m, _) = read(&[&to[..], &[4; 6], &kind, &[next; 46]].concat()).expect("a frame");
            (m.kind, m.protocol)
        };
        assert_eq!(of([0xff; 6], [8, 6], 0), (libc::PACKET_BROADCAST, 0x806));
        assert_eq!(of([1, 0, 0, 0, 0, 1], [0, 46], 0x42), (libc::PACKET_MULTICAST, LLC_802_2));
        assert_eq!(of([2, 0, 0, 0, 0, 2], [0, 46], 0xff), (libc::PACKET_OTHERHOST, RAW_802_3));
        assert!(read(&[0; 13]).is_none() && read(&[]).is_none());
    }
}
