//! The connections that a shard owns, where there are several.

use crate::pools::owners::Owners;
use crate::transport::net::hosts::Hosts;

use super::endpoint::Tuple;

/// The part of a shard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) worker: u32,
    /// `None`: all connections are its own.
    pub(super) owners: Option<Owners>,
}

impl Part {
    /// Of a shard that is alone.
    pub(super) const ALL: Self = Self { worker: 0, owners: None };

    /// Whether a connection is its own.
    #[inline]
    pub(super) fn owns(&self, hosts: &Hosts, tuple: Tuple) -> bool {
        let Some(owners) = &self.owners else { return true };
        let end = |host, port| (hosts.address(host), port);
        let (local, remote) = (end(tuple.local, tuple.local_port), end(tuple.remote, tuple.remote_port));
        owners.of(local, remote) == self.worker
    }
}
