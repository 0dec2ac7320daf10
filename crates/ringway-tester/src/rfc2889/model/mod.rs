//! A modelled switch with several ports, for virtual time: everything that the tests measure is known of it.

mod rig;
mod spec;
mod switch;
mod table;
#[cfg(test)]
mod tests;

pub use rig::ModelRig;
pub use spec::{Model, Queueing, SwitchSpec};
pub use table::{Table, TableSpec};
