//! Numbers and their units.

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit.
    One,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
    /// Per cent.
    Percent,
    /// Flows a second.
    FlowRate,
    /// Packets a second.
    PacketRate,
    /// Bits a second.
    BitRate,
    /// Flows at the same time.
    Flows,
}

impl Unit {
    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "a plain number",
            Self::Bytes => "a size in bytes",
            Self::Time => "a time",
            Self::Percent => "a percentage",
            Self::FlowRate => "a rate of flows",
            Self::PacketRate => "a rate of packets",
            Self::BitRate => "a bit rate",
            Self::Flows => "a number of flows",
        }
    }
}

/// A number with its unit, in millionths of the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Millionths.
    pub micro: u128,
    /// The unit.
    pub unit: Unit,
}
