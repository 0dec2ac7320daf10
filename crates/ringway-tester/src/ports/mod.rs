//! Trials over ports: in real time with threads that poll, or in lock step under a virtual clock.

pub(crate) mod announce;
mod guard;
pub(crate) mod management;
pub(crate) mod neighbour;
pub(crate) mod outbox;
pub(crate) mod rings;
mod set;
pub(crate) mod tsc;

pub use announce::MOST_ANNOUNCED;
pub use guard::{refuse, with_default_route};
pub use rings::{ReceiveRings, SendRing, TrainFrame};
pub use set::{Clocked, PortSet};
pub use tsc::RealClock;
