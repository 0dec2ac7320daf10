//! The messages of the control channel: 128 bytes each, little endian, the rest zero.

use crate::reason::Reason;

/// Bytes of a message.
pub const MESSAGE: usize = 128;

/// The one version of the protocol that there is: 2.0.
pub const VERSION: u16 = 0x0200;

/// Bytes of a secret.
pub const SECRET: usize = 24;

/// Bytes of a name.
const NAME: usize = 32;

/// Bytes of the text that says why a side disconnects.
const WHY: usize = 96;

/// A name or text of fixed length, filled up with zero bytes.
pub type Name = [u8; NAME];

/// What a server allows: the highest numbers, not counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The highest number of a region.
    pub region: u16,
    /// The highest number of a ring from the server to the client.
    pub s2c: u16,
    /// The highest number of a ring from the client to the server.
    pub c2s: u16,
    /// The largest ring, as a power of two.
    pub log2: u8,
}

/// A ring that a client adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingPlace {
    /// Whether the client sends on it.
    pub c2s: bool,
    /// Its number among the rings of its direction.
    pub index: u16,
    /// The region that it lies in.
    pub region: u16,
    /// Where it begins in the region.
    pub offset: u32,
    /// Its slots, as a power of two.
    pub log2: u8,
    /// Bytes of a private header behind each buffer's begin; of no use here.
    pub private_header: u16,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The last message was right.
    Ack,
    /// The server's first message.
    Hello {
        /// Name of the server's program.
        name: Name,
        /// Oldest and newest version that it speaks.
        versions: (u16, u16),
        /// What it allows.
        limits: Limits,
    },
    /// The client's first message.
    Init {
        /// Version that it chose.
        version: u16,
        /// Number of the interface on the socket.
        id: u32,
        /// What is exchanged: 0 for Ethernet frames.
        mode: u8,
        /// What both sides know, or zeros.
        secret: [u8; SECRET],
        /// Name of the client's program.
        name: Name,
    },
    /// A region of the client; its file goes with the message.
    AddRegion {
        /// Its number.
        index: u16,
        /// Its bytes.
        size: u64,
    },
    /// A ring of the client; an eventfd goes with the message.
    AddRing(RingPlace),
    /// All regions and rings are there.
    Connect(Name),
    /// The server has them; the link is up.
    Connected(Name),
    /// A side ends the connection.
    Disconnect {
        /// A number for programs.
        code: u32,
        /// A text for people.
        why: [u8; WHY],
    },
}

/// A name from a text, of which it takes as much as fits.
#[must_use]
pub fn name(text: &str) -> Name {
    filled(text)
}

/// The text of a name, for people: what is not printable is replaced.
#[must_use]
pub fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    name[..end].iter().map(|&b| if b.is_ascii_graphic() || b == b' ' { char::from(b) } else { '?' }).collect()
}

/// The first bytes of a text, and a zero byte at least.
fn filled<const N: usize>(text: &str) -> [u8; N] {
    let mut all = [0; N];
    let len = text.len().min(N - 1);
    all[..len].copy_from_slice(&text.as_bytes()[..len]);
    all
}

/// Where the next field begins. Offsets are from the first byte behind the type.
struct Fields<'a>(&'a [u8; MESSAGE]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|k| self.0[2 + at + k])
    }

    fn u8(&self, at: usize) -> u8 {
        self.0[2 + at]
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

impl Message {
    /// The message that ends a connection for this reason.
    #[must_use]
    pub fn disconnect(reason: &Reason) -> Self {
        Self::Disconnect { code: reason.code(), why: filled(&reason.to_string()) }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Reason::MessageSize`] unless it has 128 bytes, [`Reason::MessageType`] for a type that the protocol does not have.
    pub fn decode(bytes: &[u8]) -> Result<Self, Reason> {
        let bytes: &[u8; MESSAGE] = bytes.try_into().map_err(|_| Reason::MessageSize(bytes.len()))?;
        let f = Fields(bytes);
        Ok(match u16::from_le_bytes([bytes[0], bytes[1]]) {
            1 => Self::Ack,
            2 => Self::Hello {
                name: f.bytes(0),
                versions: (f.u16(32), f.u16(34)),
                limits: Limits { region: f.u16(36), s2c: f.u16(38), c2s: f.u16(40), log2: f.u8(42) },
            },
            3 => Self::Init {
                version: f.u16(0),
                id: f.u32(2),
                mode: f.u8(6),
                secret: f.bytes(7),
                name: f.bytes(31),
            },
            4 => Self::AddRegion { index: f.u16(0), size: f.u64(2) },
            5 => Self::AddRing(RingPlace {
                c2s: f.u16(0) & 1 != 0,
                index: f.u16(2),
                region: f.u16(4),
                offset: f.u32(6),
                log2: f.u8(10),
                private_header: f.u16(11),
            }),
            6 => Self::Connect(f.bytes(0)),
            7 => Self::Connected(f.bytes(0)),
            8 => Self::Disconnect { code: f.u32(0), why: f.bytes(4) },
            other => return Err(Reason::MessageType(other)),
        })
    }

    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> [u8; MESSAGE] {
        let mut out = [0; MESSAGE];
        let mut put = |at: usize, bytes: &[u8]| out[2 + at..][..bytes.len()].copy_from_slice(bytes);
        let kind: u16 = match self {
            Self::Ack => 1,
            Self::Hello { name, versions, limits } => {
                put(0, name);
                put(32, &versions.0.to_le_bytes());
                put(34, &versions.1.to_le_bytes());
                put(36, &limits.region.to_le_bytes());
                put(38, &limits.s2c.to_le_bytes());
                put(40, &limits.c2s.to_le_bytes());
                put(42, &[limits.log2]);
                2
            }
            Self::Init { version, id, mode, secret, name } => {
                put(0, &version.to_le_bytes());
                put(2, &id.to_le_bytes());
                put(6, &[*mode]);
                put(7, secret);
                put(31, name);
                3
            }
            Self::AddRegion { index, size } => {
                put(0, &index.to_le_bytes());
                put(2, &size.to_le_bytes());
                4
            }
            Self::AddRing(ring) => {
                put(0, &u16::from(ring.c2s).to_le_bytes());
                put(2, &ring.index.to_le_bytes());
                put(4, &ring.region.to_le_bytes());
                put(6, &ring.offset.to_le_bytes());
                put(10, &[ring.log2]);
                put(11, &ring.private_header.to_le_bytes());
                5
            }
            Self::Connect(name) => {
                put(0, name);
                6
            }
            Self::Connected(name) => {
                put(0, name);
                7
            }
            Self::Disconnect { code, why } => {
                put(0, &code.to_le_bytes());
                put(4, why);
                8
            }
        };
        out[..2].copy_from_slice(&kind.to_le_bytes());
        out
    }

    /// Whether a descriptor must go with it; with others none may.
    #[must_use]
    pub fn needs_descriptor(&self) -> bool {
        matches!(self, Self::AddRegion { .. } | Self::AddRing(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes that DPDK 22.11 sends for a ring, by the table of the protocol.
    #[test]
    fn fields_lie_where_the_protocol_has_them() {
        let ring =
            RingPlace { c2s: true, index: 2, region: 3, offset: 0x0001_0203, log2: 10, private_header: 5 };
        let bytes = Message::AddRing(ring).encode();
        assert_eq!(bytes[..15], [5, 0, 1, 0, 2, 0, 3, 0, 3, 2, 1, 0, 10, 5, 0]);
        assert!(bytes[15..].iter().all(|&b| b == 0));
        let init = Message::Init { version: VERSION, id: 7, mode: 0, secret: [b's'; 24], name: name("x") };
        let bytes = init.encode();
        assert_eq!((bytes[..9].to_vec(), bytes[9], bytes[33]), (vec![3, 0, 0, 2, 7, 0, 0, 0, 0], b's', b'x'));
    }

    #[test]
    fn other_sizes_and_types_are_refused() {
        assert_eq!(Message::decode(&[1; 127]), Err(Reason::MessageSize(127)));
        assert_eq!(Message::decode(&[1; 129]), Err(Reason::MessageSize(129)));
        assert_eq!(Message::decode(&[0; 128]), Err(Reason::MessageType(0)));
        assert_eq!(Message::decode(&[9; 128]), Err(Reason::MessageType(0x0909)));
    }

    #[test]
    fn texts_are_cut_and_printable() {
        let long = name(&"n".repeat(40));
        assert_eq!((long[30], long[31]), (b'n', 0));
        assert_eq!(text(b"a\x1b[b\0c"), "a?[b");
        let Message::Disconnect { code, why } = Message::disconnect(&Reason::Secret) else { panic!() };
        assert_eq!((code, text(&why)), (Reason::Secret.code(), Reason::Secret.to_string()));
    }

    proptest! {
        /// A message that was read is the same when it is written and read again.
        #[test]
        fn what_is_read_can_be_written(mut bytes in prop::array::uniform32(any::<u8>()), kind in 1u8..9) {
            (bytes[0], bytes[1]) = (kind, 0);
            let mut all = [0; MESSAGE];
            all[..32].copy_from_slice(&bytes);
            let message = Message::decode(&all).unwrap();
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }
}
