//! `struct sockaddr_ll` as bytes.

use std::ffi::c_int;
use std::mem::size_of;

use libc::sockaddr_ll;

use crate::frame::Frame;

/// Bytes of the structure.
pub(crate) const LEN: usize = size_of::<sockaddr_ll>();

/// What a program names as destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct To {
    pub(crate) index: c_int,
    pub(crate) protocol: u16,
    pub(crate) address: [u8; 6],
}

/// Reads an address; `None` for one that is too short or of another family: the kernel has the right error.
pub(crate) fn parse(bytes: &[u8]) -> Option<To> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    if bytes.len() < LEN - 2 || c_int::from(u16::from_ne_bytes(*family)) != libc::AF_PACKET {
        return None;
    }
    let index = c_int::from_ne_bytes(*rest.get(2..)?.first_chunk()?);
    let protocol = u16::from_be_bytes(*rest.first_chunk()?);
    Some(To { index, protocol, address: *bytes.get(12..)?.first_chunk()? })
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
