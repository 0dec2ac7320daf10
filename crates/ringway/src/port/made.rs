//! What a backend makes.

use std::fmt::Debug;
use std::sync::Arc;

use crate::count::{PortCounters, Registration};
use crate::error::Result;
use crate::memory::Region;
use crate::ring::{PortShape, RxRing, TxRing};

/// A port as a whole.
pub(crate) trait Control: Send + Sync + Debug {
    /// Adds what the backend counted itself.
    fn counters(&self, _sum: &mut PortCounters) {}

    /// Fails when the port's interface is gone; false when its link is down.
    fn link_up(&self) -> Result<bool> {
        Ok(true)
    }

    /// Whether nothing will ever be received again.
    fn ended(&self) -> bool {
        false
    }

    /// One line that says what serves the port and what it can't do.
    fn describe(&self) -> String;
}

/// A port without anything to ask or count beyond its rings.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) String);

impl Control for Plain {
    fn describe(&self) -> String {
        self.0.clone()
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
}
