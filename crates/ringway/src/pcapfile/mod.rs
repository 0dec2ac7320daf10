//! Capture files as plain data, without a port: for now, when each record of a replay is due.

mod error;
mod pace;

pub use error::PcapError;
pub use pace::{Due, Pacer, Speed};
