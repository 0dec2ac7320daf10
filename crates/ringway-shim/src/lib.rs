//! What the libraries share that `ringway run` puts under unmodified programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`Share`] | a port of this process, for all of its libpcap handles and packet sockets |
//! | [`Inside`] | whether the calling thread is inside one of the libraries |
//!
//! Unsafe code is in `sys`.
#![deny(unsafe_code)]

mod common;
mod fork;
mod inside;
mod queue;
mod share;
mod sys;

pub use fork::prepare;
pub use inside::Inside;
pub use share::{Holder, Rings, Share};
