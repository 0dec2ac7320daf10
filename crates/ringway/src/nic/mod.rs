//! What ports and switches share that stand on interfaces: finding one, attaching to it, and what must not be beside it.

mod attach;
mod attached;
pub(crate) mod beside_host;
mod interface;
pub mod tc;

pub(crate) use attach::{DRV_MODE, SKB_MODE, attach_xdp, owner, xdp_refused};
pub use attached::{Attached, Hook};
pub(crate) use attached::{attached, programs_of_xdp};
pub(crate) use interface::{LOOK_NS, all_served, check_queue, find, gone, promiscuous, refuse_member};
