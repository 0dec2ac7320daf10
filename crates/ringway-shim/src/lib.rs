//! What the libraries share that `ringway run` puts under unmodified programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`Share`] | a port of this process, for all of its libpcap handles and packet sockets |
//! | [`Inside`] | whether the calling thread is inside one of the libraries |
//! | [`SignalsBlocked`] | signal handlers of the program wait |
//! | [`note_rights`] | rights that the program has at its start |
//!
//! Unsafe code is in `sys`.
#![deny(unsafe_code)]

mod common;
mod fork;
mod holder;
mod inside;
mod lock;
mod queue;
mod rights;
mod share;
mod signals;
mod sys;

pub use fork::prepare;
pub use holder::Holder;
pub use inside::Inside;
pub use rights::note_rights;
pub use share::{Rings, Share};
pub use signals::SignalsBlocked;
