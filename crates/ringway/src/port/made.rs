//! What a backend makes.

use std::fmt::Debug;
use std::sync::Arc;

use super::exported::Share;
use crate::count::{PortCounters, Registration};
use crate::error::Result;
use crate::memory::Region;
use crate::ring::{PortShape, RxRing, TxRing};

/// A port as a whole, as its backend knows it.
pub trait Control: Send + Sync + Debug {
    /// Adds what the backend counted itself: drops of frames that never had a slot.
    fn counters(&self, _sum: &mut PortCounters) {}

    /// Whether the link is up.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`](crate::ErrorKind::Gone) when what the port stands for is gone.
    fn link_up(&self) -> Result<bool> {
        Ok(true)
    }

    /// Whether nothing will ever be received again.
    fn ended(&self) -> bool {
        false
    }

    /// One line that says what serves the port and what it can't do. It stays the same.
    fn describe(&self) -> String;

    /// The same with what changes: whether a peer is there, or why the last one went.
    fn status(&self) -> String {
        self.describe()
    }
}

/// A port without anything to ask or count beyond its rings.
#[derive(Debug)]
pub struct Plain(pub String);

impl Control for Plain {
    fn describe(&self) -> String {
        self.0.clone()
    }
}

impl Control for Box<dyn Control> {
    fn counters(&self, sum: &mut PortCounters) {
        (**self).counters(sum);
    }

    fn link_up(&self) -> Result<bool> {
        (**self).link_up()
    }

    fn ended(&self) -> bool {
        (**self).ended()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn status(&self) -> String {
        (**self).status()
    }
}

/// What a backend made, to be put together.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) name: String,
    pub(crate) region: Region,
    pub(crate) shape: PortShape,
    pub(crate) rx: Vec<RxRing>,
    pub(crate) tx: Vec<TxRing>,
    pub(crate) registration: Arc<Registration>,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) max_frame: u32,
    /// How it is handed to other processes, where that can be.
    pub(crate) share: Option<Box<dyn Share>>,
}
