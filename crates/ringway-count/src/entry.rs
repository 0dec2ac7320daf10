//! What lies where in the file of an open port.

use std::sync::Arc;

use super::stats::{BLOCK, RingStats};
use ringway_sys::mmap::Mmap;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"ringway3");

/// What lies where in a file. Blocks of counters follow the header, tx rings first.
pub(super) mod at {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const PID: usize = 8;
    pub(crate) const TX_RINGS: usize = 12;
    pub(crate) const RX_RINGS: usize = 16;
    /// The kernel's number of the map, or of the program of a switch port, that tells the counters.
    pub(crate) const MAP: usize = 20;
    /// What it is, see [`KernelCounters`](super::KernelCounters).
    pub(crate) const KIND: usize = 24;
    pub(crate) const NETNS: usize = 28;
    pub(crate) const INDEX: usize = 32;
    pub(crate) const SLOTS: usize = 36;
    /// When the port was opened, ns since 1970.
    pub(crate) const OPENED: usize = 40;
    /// Texts end with a zero byte.
    pub(crate) const INTERFACE: usize = 48;
    pub(crate) const NAME: usize = 64;
    /// Of a switch port: which of all that the switch has had.
    pub(crate) const TAG: usize = 1016;
    pub(crate) const BACKEND: usize = 1024;
    pub(crate) const HEADER: usize = 2048;
}

/// The most rings that a port has: all of a region. A sparse file can say any number.
pub(super) const MAX_RINGS: u64 = 4096;

/// Bytes of a file without rings.
#[cfg(fuzzing)]
pub(crate) const HEADER: usize = at::HEADER;

/// What the map of a port counts that the kernel serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum KernelCounters {
    /// Rings of an interface.
    Interface = 0,
    /// The same, and what the interface takes.
    InterfaceTaken = 1,
    /// A port of a switch, by the program that tells its user.
    SwitchPort = 2,
}

/// Bytes for the counters of so many rings.
pub(super) fn bytes(tx: u32, rx: u32) -> usize {
    at::HEADER + (tx + rx) as usize * BLOCK
}

pub(super) fn block(mem: &Arc<Mmap>, ring: u32) -> RingStats {
    RingStats::new(mem.clone(), at::HEADER + ring as usize * BLOCK)
}

/// Writes `text` as far as it fits before `end`, and zeros after it.
pub(super) fn put_text(mem: &Mmap, at: usize, end: usize, text: &str) {
    let mut bytes = vec![0u8; end - at];
    let fits = |len: &usize| *len < bytes.len() && text.is_char_boundary(*len);
    let len = (0..=text.len()).rev().find(fits).unwrap_or(0);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    mem.write(at, &bytes);
}

pub(super) fn text(mem: &Mmap, at: usize, end: usize) -> String {
    let mut bytes = vec![0u8; end - at];
    mem.read(at, &mut bytes);
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}
