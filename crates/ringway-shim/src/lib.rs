//! What the libraries share that `ringway run` puts under unmodified programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`Share`] | a port of this process, for all of its libpcap handles and packet sockets |
//! | [`PortMap`], [`Coalesce`] | which port stands for which interface, and which frames wait for others |
//! | [`ReentryGuard`] | whether the calling thread is inside one of the libraries |
//! | [`BiasedLock`] | a lock for what one thread uses all the time, and others now and then |
//! | [`SignalsBlocked`] | signal handlers of the program wait |
//! | [`note_rights`] | rights that the program has at its start |
//! | [`next_functions`], [`Table`], [`FdSets`], [`time`], [`fail`], [`at_fork`] | what hooks of functions of libc need |
//!
//! Unsafe code is in `sys`.
#![deny(unsafe_code)]

mod coalesce;
mod holder;
mod lock;
mod map;
mod open_ports;
mod queue;
mod reentry;
mod rights;
mod share;
mod shared_port;
mod signals;
mod sys;

pub use coalesce::Coalesce;
pub use holder::Holder;
pub use map::PortMap;
pub use open_ports::prepare_for_forks;
pub use reentry::ReentryGuard;
pub use rights::note_rights;
pub use share::{Rings, Share};
pub use signals::SignalsBlocked;
pub use sys::at_fork;
pub use sys::biased::BiasedLock;
pub use sys::errno::{errno, fail, set_errno};
pub use sys::fd_sets::{FdSets, SavedSets};
#[doc(hidden)]
pub use sys::next::{find_next, missing};
pub use sys::table::{FDS, Table};
pub use sys::time;
