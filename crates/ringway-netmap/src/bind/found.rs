//! What a name stands for.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::region::Region;
use crate::served::Served;

/// The rings of a port, before some of them are chosen.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) region: Arc<Region>,
    /// The port's record.
    pub(crate) port: Option<u32>,
    /// The record of its host's rings.
    pub(crate) host: Option<u32>,
    /// The record of the ring in which frames of its host's rx rings come together.
    pub(crate) gathered: Option<u32>,
    /// What serves both.
    pub(crate) served: [Option<Arc<Served>>; 2],
    /// tx, host tx, rx and host rx rings, whether their ports are open or not.
    pub(crate) counts: [u32; 4],
    pub(crate) slots: u32,
    /// The bells of a pipe's end and of the other end.
    pub(crate) bells: Vec<OwnedFd>,
}
