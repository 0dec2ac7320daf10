//! Addresses of a flow's connections, for messages that have them in their text.

use std::net::IpAddr;

use crate::base::slab::Slab;
use crate::code::{End, MAX_CONNECTIONS};
use crate::machine::context::{Context, mark};
use crate::transport::net::hosts::Hosts;

use super::endpoint::{Endpoint, Row, Tuple};

/// Where the addresses of a flow's connections are found, when a message has one.
#[derive(Clone, Copy)]
pub(super) struct Addresses<'a> {
    pub(super) context: &'a Context,
    /// Of the connection that the message goes over.
    pub(super) present: Tuple,
    pub(super) rows: &'a Slab<Row>,
    pub(super) endpoints: &'a Slab<Endpoint>,
    pub(super) hosts: &'a Hosts,
}

impl Addresses<'_> {
    /// The address of a connection's side. A connection that is not open yet has the addresses of the present one.
    pub(super) fn of(&self, slot: u8, end: End) -> IpAddr {
        let id = match self.context.is(mark::ROW) {
            true => self.rows[self.context.slots].slots[usize::from(slot) % MAX_CONNECTIONS],
            false => self.context.slots,
        };
        let tuple = self.endpoints.get(id).map_or(self.present, |endpoint| endpoint.tuple);
        self.hosts.address(if self.context.end() == end { tuple.local } else { tuple.remote })
    }
}
