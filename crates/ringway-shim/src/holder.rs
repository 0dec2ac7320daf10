//! How a user of a port hears that another one wants its rings.

use std::fmt::Debug;

/// A user that has the rings of a port.
pub trait Holder: Debug + Send + Sync {
    /// Gives the rings back ([`Share::give`](crate::Share::give)) before it returns, or as soon as a call ends that is at them. It is called from
    /// another user's thread, which holds no lock of this crate.
    fn recall(&self);
}
