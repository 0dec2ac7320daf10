//! Options of a packet socket, as far as they change what calls do.

use std::ffi::c_int;

/// Options that change what calls do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) auxdata: bool,
    pub(crate) vnet: bool,
    pub(crate) stamps: Stamps,
    /// `SO_TIMESTAMPING`, as far as it asks for the time at which a frame came.
    pub(crate) stamping: Option<c_int>,
    /// `PACKET_VERSION`.
    pub(crate) version: c_int,
    /// `PACKET_RESERVE`.
    pub(crate) reserve: u32,
    /// `PACKET_IGNORE_OUTGOING`.
    pub(crate) ignores_sent: bool,
    /// `PACKET_TX_HAS_OFF`.
    pub(crate) tx_offset: bool,
}

/// Whether a received message has its time beside it, and in which kind of message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stamps {
    #[default]
    None,
    Micros(c_int),
    Nanos(c_int),
}
