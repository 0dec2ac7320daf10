//! Backends: what stands behind the rings of a port. A backend is called once per sync, never per frame.
//!
//! Each kind of port of this crate has a file or folder here, and a row in `open/kinds.rs`. A program makes a backend of its own by
//! the traits below and [registers](crate::register_backend) it under a scheme. [`Port::open`](crate::Port::open) then opens names
//! with that scheme.
//!
//! | trait | who implements it |
//! | --- | --- |
//! | [`Backend`] | opens a port: its rings, and what is known about it. A closure will do |
//! | [`Receive`] | one rx ring: puts frames into its free slots |
//! | [`Transmit`] | one tx ring: takes the frames that the program sent |
//! | [`Control`] | the port as a whole: what serves it, its link, its end. [`Plain`] is just a text |
//!
//! The library keeps the cursors, counts frames and drops, and checks what the backend did:
//! one that does nonsense makes wrong frames, never wrong memory.
//!
//! ```
//! use ringway::backend::{Parts, Plain, Receive, Room, SentFrames, Transmit};
//! use std::os::fd::{AsFd, BorrowedFd};
//!
//! /// Sends nothing, and receives nothing.
//! #[derive(Debug)]
//! struct Void(std::fs::File);
//!
//! impl Receive for Void {
//!     fn receive(&mut self, _: &mut Room<'_>) -> ringway::Result<()> {
//!         Ok(())
//!     }
//!     fn arm(&mut self) -> ringway::Result<bool> {
//!         Ok(false)
//!     }
//!     fn fd(&self) -> BorrowedFd<'_> {
//!         self.0.as_fd()
//!     }
//! }
//!
//! impl Transmit for Void {
//!     fn transmit(&mut self, frames: &mut SentFrames<'_>) -> ringway::Result<()> {
//!         while frames.peek().is_some() {
//!             frames.sent();
//!         }
//!         Ok(())
//!     }
//!     fn fd(&self) -> BorrowedFd<'_> {
//!         self.0.as_fd()
//!     }
//! }
//!
//! ringway::register_backend("void", |_: &str| {
//!     let never = || std::io::pipe().map(|(reader, _)| std::fs::File::from(std::os::fd::OwnedFd::from(reader)));
//!     let io = |e| ringway::Error::io("void:", "no descriptor", e);
//!     Ok(Parts::pair(Void(never().map_err(io)?), Void(never().map_err(io)?), Plain("void: nothing at all".into())))
//! })?;
//! let mut port = ringway::Port::open("void:")?;
//! port.tx[0].push(&[0; 60]);
//! port.tx[0].sync()?;
//! assert_eq!(port.counters().tx.frames_out, 1);
//! # Ok::<(), ringway::Error>(())
//! ```

mod beside_host;
pub(crate) mod dpdk;
pub(crate) mod ebpf;
mod gather;
pub(crate) mod link;
mod link_claims;
pub(crate) mod memif;
pub(crate) mod null;
pub(crate) mod outside;
pub(crate) mod packet;
pub(crate) mod pcap;
pub(crate) mod pipe;
mod slots;
pub(crate) mod vale;
pub(crate) mod wrap;
pub(crate) mod xdp;

pub use crate::port::{Control, Plain};
pub use crate::ring::{Room, SentFrames};
pub use outside::{Backend, Parts, Receive, Transmit};
