//! Rings: circular arrays of slots in a region, with netmap's cursors.
//!
//! A program owns the slots from `head` up to and without `tail`. It works through them with a *burst*
//! ([`RxRing::burst`], [`TxRing::burst`]), which advances `head`, and then calls `sync`, which exchanges
//! ownership with the other side. Between two syncs nothing moves: buffers of received frames stay as they are
//! even when their slot has been passed, and `tail` does not change.
//!
//! Thread-safety: a ring is owned by one thread at a time (`&mut self`); the rings of one port may be used from
//! different threads without a lock.
#![allow(unsafe_code, reason = "rings lie in shared memory, which is reached by address")]

mod forward;
mod frame;
mod lease;
mod lend;
mod own_view;
mod own_words;
mod owned;
mod partial;
mod raw;
mod rx;
mod shape;
mod shared;
mod sync;
mod tx;
mod view;

pub use forward::{Pairing, forward};
pub(crate) use lease::Lease;
pub use lend::{Room, SentFrames};
pub(crate) use owned::{RingParts, Span};
pub(crate) use partial::Finisher;
#[doc(hidden)]
pub use raw::RawRing;
pub use rx::{RxBurst, RxFrame, RxRing};
pub use shape::PortShape;
pub(crate) use sync::{RxSync, TxSync};
pub use tx::{TxBurst, TxRing, TxSlot};
pub(crate) use view::RingView;
