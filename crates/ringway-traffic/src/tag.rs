//! The mark each generated frame carries: stream, sequence number and time.
//!
//! It is the first 18 bytes of the UDP payload, exactly what the shortest Ethernet frame (60 bytes without
//! FCS) leaves after the IPv4 and UDP headers:
//!
//! ```text
//!  0        2        4                       10                      16       18
//!  +--------+--------+-----------------------+-----------------------+--------+
//!  | magic  | stream | sequence number       | time, ns              | check  |
//!  +--------+--------+-----------------------+-----------------------+--------+
//!   16 bit   16 bit   48 bit                  48 bit                  16 bit   (all big-endian)
//! ```
//!
//! 48 bits of sequence last 218 days at 14.88 Mpps, 48 bits of nanoseconds wrap after 78 hours; both are taken
//! modulo 2^48. `check` is the Internet checksum of the 16 bytes before it. That makes the whole tag sum to
//! zero, so the UDP checksum does not depend on it and stays right when the tag is rewritten.

use super::bytes::{fold, get_u16, sum_u64};

const MAGIC: u16 = 0x5257; // "RW"
pub(super) const MASK: u64 = (1 << 48) - 1;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const ETHERTYPE_QINQ: u16 = 0x88a8;
const PROTOCOL_UDP: u8 = 17;

/// Stream, sequence number and time of one frame.
///
/// ```
/// use ringway_traffic::tag::Tag;
///
/// let tag = Tag { stream: 3, seq: 12, time_ns: 5_000 };
/// let mut bytes = [0; Tag::LEN];
/// tag.write(&mut bytes);
/// assert_eq!(Tag::read(&bytes), Ok(tag));
/// assert_eq!(tag.age_ns(7_500), 2_500);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Which sender numbered the frame: one per generating thread.
    pub stream: u16,
    /// Position in the stream, modulo 2^48.
    pub seq: u64,
    /// When the frame was built, nanoseconds modulo 2^48.
    pub time_ns: u64,
}

impl Tag {
    /// Bytes of UDP payload a tag takes.
    pub const LEN: usize = 18;

    /// Writes the tag; the high 16 bits of sequence number and time are dropped.
    pub fn write(&self, out: &mut [u8; Self::LEN]) {
        let seq = self.seq & MASK;
        let head = u64::from(MAGIC) << 48 | u64::from(self.stream) << 32 | seq >> 16;
        let tail = seq << 48 | self.time_ns & MASK;
        out[..8].copy_from_slice(&head.to_be_bytes());
        out[8..16].copy_from_slice(&tail.to_be_bytes());
        out[16..].copy_from_slice(&(!fold(sum_u64(head) + sum_u64(tail))).to_be_bytes());
    }

    /// Reads a tag from the start of a UDP payload.
    ///
    /// # Errors
    /// [`NoTag::Foreign`] when the payload is too short or has no magic, [`NoTag::Corrupted`] when the check
    /// is wrong.
    pub fn read(payload: &[u8]) -> Result<Self, NoTag> {
        let bytes: &[u8; Self::LEN] = payload.first_chunk().ok_or(NoTag::Foreign)?;
        let head = word(bytes, 0);
        let tail = word(bytes, 8);
        if head >> 48 != u64::from(MAGIC) {
            return Err(NoTag::Foreign);
        }
        let check = u64::from(bytes[16]) << 8 | u64::from(bytes[17]);
        if fold(sum_u64(head) + sum_u64(tail) + check) != 0xffff {
            return Err(NoTag::Corrupted);
        }
        let seq = (head & 0xffff_ffff) << 16 | tail >> 48;
        Ok(Self { stream: (head >> 32) as u16, seq, time_ns: tail & MASK })
    }

    /// Finds the tag in a frame: Ethernet, up to two VLAN tags, IPv4 or IPv6, UDP, not a fragment.
    ///
    /// # Errors
    /// As [`Tag::read`]; any other frame is [`NoTag::Foreign`].
    pub fn find(frame: &[u8]) -> Result<Self, NoTag> {
        let layers = Layers::of(frame).ok_or(NoTag::Foreign)?;
        Self::read(frame.get(layers.payload()..).ok_or(NoTag::Foreign)?)
    }

    /// Nanoseconds since the frame was built; right while less than 78 hours have passed.
    pub fn age_ns(&self, now_ns: u64) -> u64 {
        now_ns.wrapping_sub(self.time_ns) & MASK
    }
}

/// Why a frame has no tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTag {
    /// Not one of our frames.
    Foreign,
    /// Ours, but its tag was changed on the way.
    Corrupted,
}

impl std::fmt::Display for NoTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Foreign => "frame carries no tag",
            Self::Corrupted => "tag of the frame is corrupted",
        })
    }
}

impl std::error::Error for NoTag {}

fn word(bytes: &[u8; Tag::LEN], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(word)
}

/// Where the IP and UDP headers of a frame start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layers {
    /// Offset of the IP header.
    pub ip: usize,
    /// Offset of the UDP header.
    pub udp: usize,
    /// Whether it is IPv6.
    pub ipv6: bool,
}

impl Layers {
    /// Offsets in an unfragmented UDP frame; `None` for anything else. The IP header and the UDP ports are
    /// inside the frame.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let mut ip = 14;
        let mut ethertype = get_u16(frame, 12)?;
        for _ in 0..2 {
            if ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_QINQ {
                ethertype = get_u16(frame, ip + 2)?;
                ip += 4;
            }
        }
        let header = frame.get(ip..)?;
        let (length, protocol, ipv6) = match (ethertype, header.first()? >> 4) {
            (ETHERTYPE_IPV4, 4) => {
                let fragment = get_u16(header, 6)? & 0x3fff != 0;
                let length = usize::from(header[0] & 15) * 4;
                if fragment || length < 20 {
                    return None;
                }
                (length, header.get(9)?, false)
            }
            (ETHERTYPE_IPV6, 6) => (40, header.get(6)?, true),
            _ => return None,
        };
        let fits = header.len() >= length + 4;
        (*protocol == PROTOCOL_UDP && fits).then_some(Self { ip, udp: ip + length, ipv6 })
    }

    fn payload(&self) -> usize {
        self.udp + 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::sum_bytes;
    use proptest::prelude::*;

    fn frame_with(tag: &Tag) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12] = 8;
        frame[14] = 0x45;
        frame[23] = 17;
        tag.write((&mut frame[42..]).try_into().unwrap());
        frame
    }

    #[test]
    fn found_behind_vlan_tags_only_in_whole_udp() {
        let tag = Tag { stream: 1, seq: 2, time_ns: 3 };
        let frame = frame_with(&tag);
        assert_eq!(Tag::find(&frame), Ok(tag));
        let mut tagged = frame.clone();
        for _ in 0..2 {
            tagged.splice(12..12, [0x81, 0, 0, 5]);
            assert_eq!(Tag::find(&tagged), Ok(tag));
        }
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert_eq!(Tag::find(&tagged), Err(NoTag::Foreign));
        for (at, value) in [(12, 9), (14, 0x65), (14, 0x44), (21, 1), (23, 6), (42, 0)] {
            let mut other = frame.clone();
            other[at] = value;
            assert_eq!(Tag::find(&other), Err(NoTag::Foreign), "byte {at}");
        }
    }

    #[test]
    fn age_crosses_the_wrap() {
        let tag = Tag { stream: 0, seq: 0, time_ns: MASK - 9 };
        assert_eq!(tag.age_ns((1 << 48) + 10), 20);
        assert_eq!(tag.age_ns(5 << 48 | 10), 20);
    }

    proptest! {
        #[test]
        fn round_trip_and_zero_sum(stream: u16, seq: u64, time_ns: u64) {
            let mut bytes = [0; Tag::LEN];
            Tag { stream, seq, time_ns }.write(&mut bytes);
            prop_assert_eq!(Tag::read(&bytes), Ok(Tag { stream, seq: seq & MASK, time_ns: time_ns & MASK }));
            prop_assert_eq!(fold(sum_bytes(&bytes)), 0xffff);
        }

        #[test]
        fn every_changed_bit_is_noticed(seq: u64, time_ns: u64, bit in 0usize..144) {
            let mut frame = frame_with(&Tag { stream: 9, seq, time_ns });
            frame[42 + bit / 8] ^= 1 << (bit % 8);
            let expected = if bit < 16 { NoTag::Foreign } else { NoTag::Corrupted };
            prop_assert_eq!(Tag::find(&frame), Err(expected));
        }

        #[test]
        fn any_bytes_are_safe(mut frame in proptest::collection::vec(any::<u8>(), 0..120), kind in 0u8..4) {
            if frame.len() > 15 {
                let start: [u8; 3] = [[8, 0, 0x45], [0x86, 0xdd, 0x60], [0x81, 0, 0], [8, 0, 0x4f]][usize::from(kind)];
                frame[12..15].copy_from_slice(&start);
            }
            let _ = Tag::find(&frame);
        }
    }
}
