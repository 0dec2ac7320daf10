//! A segment as TCP sees it: its header fields and its bytes.

/// Flags of the TCP header.
pub(crate) mod flag {
    /// No more data from the sender.
    pub(crate) const FIN: u8 = 0x01;
    /// Numbers start here.
    pub(crate) const SYN: u8 = 0x02;
    /// The connection is over.
    pub(crate) const RST: u8 = 0x04;
    /// The receiver's program should see the data now.
    pub(crate) const PSH: u8 = 0x08;
    /// The acknowledgement counts.
    pub(crate) const ACK: u8 = 0x10;
}

/// A received segment. Its checksum is right, and its lengths were checked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment<'a> {
    /// The number of the first byte, or of SYN.
    pub(crate) seq: u32,
    /// The next byte that the peer expects, with flag ACK.
    pub(crate) ack: u32,
    /// The window as it stands in the header.
    pub(crate) window: u16,
    /// Flags, see [`flag`].
    pub(crate) flags: u8,
    /// The largest segment that the peer takes; 0 without the option. Only in a SYN.
    pub(crate) mss: u16,
    /// The shift of the peer's windows. Only in a SYN.
    pub(crate) shift: Option<u8>,
    /// The bytes.
    pub(crate) data: &'a [u8],
}

impl Segment<'_> {
    /// Whether all of `flags` are set.
    #[inline]
    pub(crate) const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Numbers that the segment takes: its bytes, and one each for SYN and FIN.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.data.len() as u32 + (self.flags & flag::SYN != 0) as u32 + (self.flags & flag::FIN != 0) as u32
    }
}

/// A segment to be sent. Its bytes come from the stream, from `seq` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Outgoing {
    /// The number of the first byte, or of SYN or FIN.
    pub(crate) seq: u32,
    /// The next byte that is expected.
    pub(crate) ack: u32,
    /// The window for the header.
    pub(crate) window: u16,
    /// Flags, see [`flag`].
    pub(crate) flags: u8,
    /// Bytes of the stream.
    pub(crate) len: u16,
    /// The options of a SYN: the largest segment, and the shift of windows if it is offered.
    pub(crate) syn: Option<(u16, Option<u8>)>,
}
