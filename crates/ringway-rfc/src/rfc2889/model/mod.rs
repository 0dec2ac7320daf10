//! A modelled switch with several ports, for virtual time: everything that the tests measure is known of it.

mod bed;
mod spec;
mod switch;
mod table;
#[cfg(test)]
mod tests;

pub use bed::ModelTestBed;
pub use spec::{Model, Queueing, SwitchSpec};
pub use table::{Table, TableSpec};
