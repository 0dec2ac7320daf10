//! Raw packets of attacks: bytes with fields that change from packet to packet.

use super::Place;

/// What fills a field of a raw packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Random bits.
    Random,
    /// `lo` in the first packet, then one more each, and `lo` again after `hi`.
    Count {
        /// First value.
        lo: u64,
        /// Last value.
        hi: u64,
    },
    /// Each value of `lo..=hi` once, in an order that looks random, and then again.
    Shuffle {
        /// Least value.
        lo: u64,
        /// Greatest value.
        hi: u64,
    },
    /// Any value of `lo..=hi`.
    Range {
        /// Least value.
        lo: u64,
        /// Greatest value.
        hi: u64,
    },
    /// Lower-case letters, as many as the field has bytes: random names.
    Letters,
}

/// A field: whole bytes of a packet, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it begins, in bytes from the start of the IP header.
    pub offset: u16,
    /// How many bytes it has: 1..=8, of `Letters` 1..=63.
    pub width: u8,
    /// What fills it.
    pub fill: Fill,
}

/// How a checksum of a raw packet is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Right.
    Good,
    /// Wrong: the right one with its bits flipped.
    Bad,
    /// As the template has it.
    Keep,
}

/// A raw packet.
///
/// The template begins with the IP header. The sender fills in, in this order: addresses, fields, the marker, checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// The bytes: an index into the templates. At least a whole IP header without options.
    pub template: u32,
    /// Source address. Never [`Place::Same`].
    pub source: Place,
    /// Any address of the source pool in each packet. Otherwise they are used in the order of the pool's choice.
    pub any: bool,
    /// Target address. Never [`Place::Same`].
    pub target: Place,
    /// The source address is that of the target (land).
    pub land: bool,
    /// Fields that change.
    pub fields: Vec<Field>,
    /// Checksum of the IPv4 header.
    pub ip_sum: Sum,
    /// Checksum of TCP, UDP or ICMP, where the template says that one is there.
    pub sum: Sum,
    /// The engine answers nothing that comes back for these packets (no RST to a SYN-ACK). It counts answers by type all the same.
    pub no_reply: bool,
}

/// IP identification (IPv4) or flow label (IPv6) of each attack packet, so that captures can tell them apart.
pub const MARKER: u16 = 0xa77c;
