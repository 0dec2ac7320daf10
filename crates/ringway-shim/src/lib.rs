//! What the libraries share that `ringway run` puts under unmodified programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`Share`] | a port of this process, for all of its libpcap handles and packet sockets |
//! | [`Inside`] | whether the calling thread is inside one of the libraries |
//! | [`SignalsBlocked`] | signal handlers of the program wait |
//! | [`PortMap`], [`Coalesce`] | which port stands for which interface, and which frames wait for others |
//! | [`note_rights`] | rights that the program has at its start |
//!
//! Unsafe code is in `sys`.
#![deny(unsafe_code)]

mod coalesce;
mod common;
mod fork;
mod inside;
mod map;
mod queue;
mod rights;
mod share;
mod signals;
mod sys;

pub use coalesce::Coalesce;
pub use fork::prepare;
pub use inside::Inside;
pub use map::PortMap;
pub use rights::note_rights;
pub use share::{Holder, Rings, Share};
pub use signals::SignalsBlocked;
