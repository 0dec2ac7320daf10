//! Formats: messages with values in them.

use super::End;

/// Most bytes that a format may render to. A peer has to keep as many of a message that is not complete.
pub const MAX_FORMAT: u32 = 8_192;
/// Most bytes of a piece that renders an address, a number or a port.
const ADDRESS: u32 = 39;
const DECIMAL: u32 = 20;
const HOST_PORT: u32 = 23;

/// A part of a message. `SendV` renders pieces; `ExpectV` compares them, and *takes* the values of pieces whose name begins with `Take`.
///
/// A piece that takes stands only in formats of `ExpectV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// The bytes of a template.
    Text(u32),
    /// A register in decimal, without leading zeros.
    Decimal(u8),
    /// The low digits of a register in hexadecimal, lower case, with leading zeros.
    Hex {
        /// The register.
        reg: u8,
        /// How many digits: 1..=16.
        digits: u8,
    },
    /// Lower-case letters. Letter i is `'a' + ((r >> 5 * i & 31) * 26 >> 5)`.
    Letters {
        /// The register.
        reg: u8,
        /// How many letters: 1..=12.
        count: u8,
    },
    /// The low bytes of a register, the highest one first.
    Bytes {
        /// The register.
        reg: u8,
        /// How many bytes: 1..=8.
        count: u8,
    },
    /// An address as text: dotted, or as in RFC 5952.
    Address {
        /// Connection whose address it is.
        slot: u8,
        /// Side of the connection.
        end: End,
    },
    /// An address as 4 or 16 bytes.
    AddressBytes {
        /// Connection whose address it is.
        slot: u8,
        /// Side of the connection.
        end: End,
    },
    /// An IPv4 address and a port as FTP writes them: `h1,h2,h3,h4,p1,p2`.
    HostPort {
        /// Connection whose address it is.
        slot: u8,
        /// Side of the connection.
        end: End,
        /// Register with the port.
        reg: u8,
    },
    /// Takes decimal digits, without leading zeros and at most 20, that are less than 2^64.
    TakeDecimal(u8),
    /// Takes this many hexadecimal digits, lower case.
    TakeHex {
        /// The register.
        reg: u8,
        /// How many digits: 1..=16.
        digits: u8,
    },
    /// Takes this many bytes, the highest one first.
    TakeBytes {
        /// The register.
        reg: u8,
        /// How many bytes: 1..=8.
        count: u8,
    },
    /// Compares the address as `HostPort` writes it, and takes the port.
    TakeHostPort {
        /// Connection whose address it must be.
        slot: u8,
        /// Side of the connection.
        end: End,
        /// Register for the port.
        reg: u8,
    },
}

/// A message of pieces.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Format {
    /// Its pieces in order.
    pub pieces: Vec<Piece>,
}

impl Piece {
    /// The register that it reads.
    #[must_use]
    pub const fn reads(self) -> Option<u8> {
        match self {
            Self::Decimal(reg)
            | Self::Hex { reg, .. }
            | Self::Letters { reg, .. }
            | Self::Bytes { reg, .. }
            | Self::HostPort { reg, .. } => Some(reg),
            _ => None,
        }
    }

    /// The register that it writes.
    #[must_use]
    pub const fn takes(self) -> Option<u8> {
        match self {
            Self::TakeDecimal(reg)
            | Self::TakeHex { reg, .. }
            | Self::TakeBytes { reg, .. }
            | Self::TakeHostPort { reg, .. } => Some(reg),
            _ => None,
        }
    }

    /// The connection whose address it needs.
    #[must_use]
    pub const fn slot(self) -> Option<u8> {
        match self {
            Self::Address { slot, .. }
            | Self::AddressBytes { slot, .. }
            | Self::HostPort { slot, .. }
            | Self::TakeHostPort { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// Most bytes that it renders to, if `template` says the length of a template.
    pub fn longest(self, template: impl Fn(u32) -> u32) -> u32 {
        match self {
            Self::Text(index) => template(index),
            Self::Decimal(_) | Self::TakeDecimal(_) => DECIMAL,
            Self::Hex { digits: n, .. } | Self::TakeHex { digits: n, .. } => u32::from(n),
            Self::Letters { count: n, .. }
            | Self::Bytes { count: n, .. }
            | Self::TakeBytes { count: n, .. } => u32::from(n),
            Self::Address { .. } => ADDRESS,
            Self::AddressBytes { .. } => 16,
            Self::HostPort { .. } | Self::TakeHostPort { .. } => HOST_PORT,
        }
    }

    /// Whether it always renders to as many bytes as [`longest`](Self::longest) says.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::Hex { .. }
                | Self::Letters { .. }
                | Self::Bytes { .. }
                | Self::TakeHex { .. }
                | Self::TakeBytes { .. }
        )
    }
}
