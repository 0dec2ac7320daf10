//! The kernel's routing tables, mirrored by netlink and made into what forwards.
pub mod event;

mod decode;
mod error;
mod follow;
mod paths;
mod silent;
mod socket;
mod state;
mod tables;

pub use error::ControlError;
pub use event::{Event, Family, Hop, Kind, Net, Via};
pub use follow::{Check, Follower, Health, Options};
pub use state::{Changes, DEFAULT, Doubt, LOCAL, MAIN, State};

/// Buckets of a multipath group.
pub const BUCKETS: usize = 256;
