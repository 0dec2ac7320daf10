//! Why a connection ends. The peer gets the text with its last message, and the user sees it.

use std::fmt;

/// Why a connection ended, or did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The peer closed the connection.
    Closed,
    /// The peer closed it, and said why.
    Said(String),
    /// A message does not have 128 bytes.
    MessageSize(usize),
    /// The protocol has no message of this type.
    MessageType(u16),
    /// The message came in a state in which it makes no sense.
    Order,
    /// A descriptor is missing.
    NoDescriptor,
    /// There are more descriptors than the message has room for.
    ManyDescriptors,
    /// The peer speaks another version of the protocol.
    Version(u16),
    /// The peer does not exchange Ethernet frames.
    Mode(u8),
    /// The secret is another one.
    Secret,
    /// Nobody serves an interface of this number.
    NoInterface(u32),
    /// The interface has a client.
    AlreadyConnected,
    /// Regions come in rising order, as many as the server allows.
    RegionIndex(u16),
    /// The file can be cut short, which would end this process.
    Unsealed(u16),
    /// The file is smaller than the region, or the region has no bytes.
    RegionSize(u16),
    /// The region can't be mapped.
    Mapping(u16),
    /// The ring has a number that the server does not allow, or that another one has.
    RingIndex(u16),
    /// A ring has 2 to 16384 slots.
    RingSize(u8),
    /// The ring does not lie in its region, or not on a 64-byte boundary.
    RingPlace(u16),
    /// The descriptor of the ring is no eventfd.
    NoEventfd(u16),
    /// The ring does not begin with the cookie.
    Cookie(u16),
    /// There is no ring at all.
    NoRings,
    /// A counter of the peer is ahead of what a ring has room for.
    Counter,
    /// A descriptor names bytes that are in no region.
    Outside,
    /// A frame goes on behind what the peer published.
    Chain,
    /// The handshake took too long.
    Slow,
    /// The peer runs as a user who may not connect.
    User(u32),
    /// The system refused: what, and why.
    System(String),
    /// This side closes its port.
    PortClosed,
}

impl Reason {
    /// A number for programs, the same for a reason in all versions.
    #[must_use]
    pub fn code(&self) -> u32 {
        match self {
            Self::Closed | Self::Said(_) | Self::PortClosed => 0,
            Self::MessageSize(_) => 1,
            Self::MessageType(_) => 2,
            Self::Order => 3,
            Self::NoDescriptor | Self::ManyDescriptors => 4,
            Self::Version(_) => 5,
            Self::Mode(_) => 6,
            Self::Secret | Self::User(_) => 7,
            Self::NoInterface(_) => 8,
            Self::AlreadyConnected => 9,
            Self::RegionIndex(_) | Self::RegionSize(_) | Self::Mapping(_) => 10,
            Self::Unsealed(_) => 11,
            Self::RingIndex(_) | Self::RingSize(_) | Self::RingPlace(_) | Self::NoRings => 12,
            Self::NoEventfd(_) => 13,
            Self::Cookie(_) => 14,
            Self::Counter => 15,
            Self::Outside => 16,
            Self::Chain => 17,
            Self::Slow => 18,
            Self::System(_) => 19,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed the connection"),
            Self::Said(why) => write!(f, "the peer disconnected: {why}"),
            Self::MessageSize(len) => write!(f, "Invalid message size: {len} bytes, not 128"),
            Self::MessageType(kind) => write!(f, "Unknown message type {kind}"),
            Self::Order => f.write_str("Unexpected message"),
            Self::NoDescriptor => f.write_str("The message lacks its descriptor"),
            Self::ManyDescriptors => f.write_str("The message has too many descriptors"),
            Self::Version(v) => write!(f, "Incompatible version {}.{}", v >> 8, v & 255),
            Self::Mode(mode) => write!(f, "Mode {mode} is not supported, only 0 (Ethernet)"),
            Self::Secret => f.write_str("Incorrect secret"),
            Self::NoInterface(id) => write!(f, "Unmatched interface id {id}"),
            Self::AlreadyConnected => f.write_str("Already connected"),
            Self::RegionIndex(at) => write!(f, "Invalid region index {at}"),
            Self::Unsealed(at) => write!(f, "Region {at} is not sealed against shrinking"),
            Self::RegionSize(at) => write!(f, "The file of region {at} is too small"),
            Self::Mapping(at) => write!(f, "Mapping region {at} failed"),
            Self::RingIndex(at) => write!(f, "Invalid ring index {at}"),
            Self::RingSize(log2) => write!(f, "Invalid ring size 2^{log2}"),
            Self::RingPlace(at) => write!(f, "Ring {at} does not lie in its region"),
            Self::NoEventfd(at) => write!(f, "The descriptor of ring {at} is no eventfd"),
            Self::Cookie(at) => write!(f, "Wrong cookie in ring {at}"),
            Self::NoRings => f.write_str("No rings"),
            Self::Counter => f.write_str("A ring counter jumped"),
            Self::Outside => f.write_str("A descriptor is outside its region"),
            Self::Chain => f.write_str("A chain has no end"),
            Self::Slow => f.write_str("The handshake took too long"),
            Self::User(uid) => write!(f, "User {uid} may not connect"),
            Self::System(what) => f.write_str(what),
            Self::PortClosed => f.write_str("The port was closed"),
        }
    }
}

impl std::error::Error for Reason {}
