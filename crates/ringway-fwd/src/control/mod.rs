//! The kernel's routing tables, mirrored by netlink and made into what forwards.
pub mod event;

mod adjacency;
mod decode;
mod error;
mod follow;
mod group;
mod numbers;
mod paths;
mod resolve;
mod silent;
mod socket;
mod state;
mod tables;
mod target;

pub use adjacency::{Adjacencies, Adjacency, Counters, Verdict};
pub use error::ControlError;
pub use event::{Event, Family, Hop, Kind, Net, Via};
pub use follow::{Check, Follower, Health, Options};
pub use group::{BUCKETS, Buckets, Groups, flow_hash};
pub use resolve::{Limits, Plane, Resolver, Tables};
pub use state::{Changes, DEFAULT, Doubt, LOCAL, MAIN, State};
