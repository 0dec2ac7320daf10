//! What only the targets in `fuzz/` reach: parsers that are private otherwise.
#![allow(missing_docs, reason = "no part of the library")]

use crate::Filter;
use crate::filter::{self, Hook};
use crate::sys::netlink;

/// Messages of the answer to request `serial` in a datagram: kind and body; whether the answer is complete.
pub fn netlink_messages(datagram: &[u8], serial: u32) -> std::io::Result<(Vec<(u16, Vec<u8>)>, bool)> {
    let mut all = Vec::new();
    let done = netlink::take(datagram, serial, &mut all)?;
    Ok((all.into_iter().map(|m| (m.kind, m.body)).collect(), done))
}

/// Attributes: kind and value.
pub fn netlink_attributes(bytes: &[u8]) -> Vec<(u16, &[u8])> {
    netlink::attributes(bytes).collect()
}

/// Text of an attribute.
pub fn netlink_text(value: &[u8]) -> String {
    netlink::text(value)
}

/// Appends an attribute.
pub fn netlink_put(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    netlink::put(body, kind, value);
}

/// An eBPF instruction: operation, destination, source, offset, constant.
pub type Ebpf = (u8, u8, u8, i16, i32);

/// The filter as an eBPF program for XDP, or for the egress of tcx.
pub fn to_ebpf(filter: &Filter, xdp: bool) -> Result<Vec<Ebpf>, &'static str> {
    let code = filter::to_ebpf(filter, if xdp { Hook::Xdp } else { Hook::TcxEgress }, 3)?;
    Ok(code.iter().map(|i| (i.code, i.dst_reg(), i.src_reg(), i.off, i.imm)).collect())
}

pub use ringway_count::fuzz::registered;
