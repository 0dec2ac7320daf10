//! Packet sockets with mapped rings, version 2 (packet(7), Documentation/networking/packet_mmap.rst).

mod geometry;
mod rx;
mod socket;
mod tx;

pub use geometry::Geometry;
pub use rx::{PacketFrame, PacketRx, SPARE, take_drops, take_error};
pub use socket::METADATA;
pub use tx::PacketTx;
