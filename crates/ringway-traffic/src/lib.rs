//! Traffic as plain data: frames to send, when each is due, and checks of what arrives, as in `pkt-gen`.
//!
//! Everything here is pure: clocks, buffers and frames come in as arguments, so a trial over shared memory,
//! a NIC or a test vector runs the same code.
//!
//! | module | sender | receiver |
//! | --- | --- | --- |
//! | [`range`] | addresses, ports and MAC addresses to walk through | |
//! | [`template`] | prebuilt frame, rewritten in place | |
//! | [`tag`] | marks each frame with stream, sequence number and time | finds the mark |
//! | [`bytes`] | fields and sums | the same |
//! | [`number`] | counts and rates as users write them | the same |
//! | [`pace`] | how many frames may leave now | |
//! | [`reflect`] | | sends a frame back (pong) |
//! | [`check`] | | loss, duplicates, reordering |
//! | [`latency`] | | percentiles and a histogram |
//! | [`report`] | a line per interval, averages at the end | the same |
//! | [`units`] | numbers as every command prints them | the same |
//!
//! Lengths are bytes **without** the FCS, as in netmap's `pkt-gen -l`: 60 is the shortest Ethernet frame.
//! All multi-byte fields are big-endian on the wire. Times are nanoseconds of one clock of the caller's choice.
//!
//! ```
//! use ringway_traffic::{check::{Seen, SequenceCheck}, template::{FrameSpec, Template}};
//!
//! let mut template = Template::new(&FrameSpec::default())?;
//! let mut check = SequenceCheck::new();
//! let mut buffer = [0; 2048];
//! for seq in 0..10 {
//!     let len = template.write(&mut buffer, seq, 1_000 * seq);
//!     assert_eq!(check.observe(&buffer[..len]), Seen::New);
//! }
//! assert_eq!(check.counts().lost, 0);
//! # Ok::<(), ringway_traffic::template::SpecError>(())
//! ```

#![forbid(unsafe_code)]

pub mod bytes;
pub mod check;
pub mod latency;
pub mod number;
pub mod pace;
pub mod range;
pub mod reflect;
pub mod report;
pub mod tag;
pub mod template;
pub mod units;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
