//! `struct sockaddr_ll` as bytes.

use std::ffi::c_int;
use std::mem::size_of;

use libc::sockaddr_ll;

use crate::frame::Frame;

/// Bytes of the structure.
pub(crate) const LEN: usize = size_of::<sockaddr_ll>();

/// What a program names: where to send, or what to bind to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct To {
    /// The kernel looks at it in `bind` only; some programs leave it 0 when they send.
    pub(crate) family: c_int,
    pub(crate) index: c_int,
    pub(crate) protocol: u16,
    /// As it stands there: the kernel does not look at its length.
    pub(crate) address: [u8; 6],
}

/// Reads an address; `None` for one that is too short for itself: the kernel has the error.
pub(crate) fn parse(bytes: &[u8]) -> Option<To> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let hardware = usize::from(*bytes.get(11)?);
    if bytes.len() < LEN.max(12 + hardware) {
        return None;
    }
    let family = c_int::from(u16::from_ne_bytes(*family));
    let index = c_int::from_ne_bytes(*rest.get(2..)?.first_chunk()?);
    let protocol = u16::from_be_bytes(*rest.first_chunk()?);
    Some(To { family, index, protocol, address: *bytes.get(12..)?.first_chunk()? })
}

/// The sender of a received frame.
pub(crate) fn of(frame: &Frame<'_>, index: u32, hardware: u16) -> [u8; LEN] {
    let mut out = [0; LEN];
    out[..2].copy_from_slice(&(libc::AF_PACKET as u16).to_ne_bytes());
    out[2..4].copy_from_slice(&frame.meta.protocol.to_be_bytes());
    out[4..8].copy_from_slice(&index.to_ne_bytes());
    out[8..10].copy_from_slice(&hardware.to_ne_bytes());
    (out[10], out[11]) = (frame.meta.kind, 6);
    out[12..18].copy_from_slice(&frame.source());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_reads_them() {
        let mut bytes = [17, 0, 0x88, 0xb5, 7, 0, 0, 0, 1, 0, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        let to = To { family: libc::AF_PACKET, index: 7, protocol: 0x88b5, address: [1, 2, 3, 4, 5, 6] };
        assert_eq!(parse(&bytes), Some(to));
        assert_eq!(parse(&bytes[..19]), None);
        bytes[0] = 0;
        assert_eq!(parse(&bytes), Some(To { family: 0, ..to }), "any family");
        bytes[11] = 9;
        assert_eq!(parse(&bytes), None, "a hardware address behind the end");
    }
}
