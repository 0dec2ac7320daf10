#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod channel;
mod client;
#[cfg(test)]
mod handshake_tests;
mod link;
mod memory;
mod message;
mod reason;
mod ring;
mod server;

pub use address::{Address, Listening, connect_to};
pub use channel::{Access, Channel};
pub use client::{Client, Offer, OfferedMemory};
pub use link::{Buffers, Link, LinkRing, Role};
pub use message::{Limits, MESSAGE, Message, Name, RingPlace, SECRET, VERSION, name, text};
pub use reason::Reason;
pub use ring::{COOKIE, Descriptor, Descriptors, LOG2, Ring, ring_bytes};
pub use server::{REGIONS, Session, Terms};
