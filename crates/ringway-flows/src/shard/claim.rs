//! Hosts and ports that connections take.

use crate::code::Place;
use crate::transport::net::hosts::{HostId, Hosts};

use super::Shard;

impl Shard {
    /// A host for one side of a first connection.
    pub(super) fn choose(&mut self, place: Place) -> Option<HostId> {
        match place {
            Place::Pool(pool) => {
                let (first, choice) = self.members.get_mut(pool as usize)?.as_mut()?;
                Some(HostId(*first + choice.next(&mut self.random)))
            }
            Place::Fixed(address) => self.nets[0].hosts().find(address),
            Place::Same { .. } => None,
        }
    }

    /// A free port of a host, or of a neighbour in its pool when it has none and `near` is set. Ports of services are not lent.
    pub(super) fn take_port(
        &mut self,
        host: HostId,
        is_udp: bool,
        near: bool,
        fits: impl Fn(&Hosts, HostId, u16) -> bool,
    ) -> Option<(HostId, u16)> {
        let Self { nets, members, pairs, services, .. } = self;
        let hosts = nets[0].hosts();
        let pool = hosts.pool(host) as usize;
        let (first, _) = members.get(pool)?.as_ref()?;
        let (first, pairs) = (*first, pairs.get_mut(pool)?);
        let at = host.0 - first;
        let host_of = |at: u32| HostId(first + at);
        let fits = |host, port| !services.have(pool as u32, port, is_udp) && fits(hosts, host, port);
        match near {
            true => {
                let (at, port) = pairs.take_near(at, |at, port| fits(host_of(at), port)).ok()?;
                Some((host_of(at), port))
            }
            false => pairs.take(at, |port| fits(host, port)).ok().map(|port| (host, port)),
        }
    }

    /// A port that was lent is free again.
    pub(super) fn give_port(&mut self, host: HostId, port: u16) {
        let pool = self.nets[0].hosts().pool(host) as usize;
        if let Some(Some((first, _))) = self.members.get(pool) {
            self.pairs[pool].give(host.0 - first, port);
        }
    }
}
