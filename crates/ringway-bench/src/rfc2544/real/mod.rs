//! Trials over ports: in real time with threads that poll, or in lock step under a virtual clock.

mod announce;
mod guard;
mod management;
mod neighbour;
mod outbox;
mod ports;
mod rig;
#[cfg(test)]
mod tests;
mod tsc;

pub use announce::MOST_ANNOUNCED;
pub use guard::refuse;
pub use ports::{RealRx, RealTx};
pub(crate) use ports::{held, own_drops};
pub(crate) use rig::slept;
pub use rig::{RealRig, RigSpec};
pub use tsc::RealClock;
