//! The quick way for the most frequent frames: untagged segments of IPv4 without options of IPv4, between hosts that have the hardware
//! address of their port.
//!
//! It reads and writes the headers once, as words, where the long way goes from view to view and from host to host. All other frames go the
//! long way, which takes and gives the same ones.

mod hosts;
mod read;
mod write;

pub(super) use hosts::Plain;
pub(crate) use read::Quick;
pub(super) use read::{glance, segment};
pub(crate) use write::QuickWay;

/// Ethernet, IPv4 and TCP.
const HEADERS: usize = 54;
const IPV4: usize = 14;
const TCP: usize = 34;
const NUMBER_OF_TCP: u8 = 6;
