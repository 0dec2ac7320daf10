//! Which flows a first packet may belong to.

use crate::code::{Bundle, End, Place, ToPort, Transport};
use crate::transport::net::hosts::{HostId, Hosts};

/// The flows whose first connection goes to the same port.
#[derive(Debug)]
struct Class {
    is_udp: bool,
    port: u16,
    /// The pool of the server's addresses.
    pool: u32,
    flows: Vec<u16>,
}

/// What servers listen to, all the time.
#[derive(Debug, Default)]
pub(super) struct Services {
    classes: Vec<Class>,
    /// By flow: its class and its place there. `None` for a flow without a connection.
    of_flow: Vec<Option<(u16, u16)>>,
}

impl Services {
    pub(super) fn new(bundle: &Bundle, hosts: &Hosts) -> Self {
        let mut all = Self::default();
        for (number, flow) in (0..).zip(&bundle.flows) {
            let place = flow.connections.first().and_then(|first| {
                let ToPort::Fixed(port) = first.port else { return None };
                let pool = match first.server {
                    Place::Pool(pool) => pool,
                    Place::Fixed(address) => hosts.pool(hosts.find(address)?),
                    Place::Same { .. } => return None,
                };
                (first.opener == End::Client)
                    .then(|| all.join(number, first.transport == Transport::Udp, port, pool))
            });
            all.of_flow.push(place);
        }
        all
    }

    fn join(&mut self, flow: u16, is_udp: bool, port: u16, pool: u32) -> (u16, u16) {
        let same = |class: &Class| (class.is_udp, class.port, class.pool) == (is_udp, port, pool);
        let at = self.classes.iter().position(same).unwrap_or_else(|| {
            self.classes.push(Class { is_udp, port, pool, flows: Vec::new() });
            self.classes.len() - 1
        });
        let flows = &mut self.classes[at].flows;
        flows.push(flow);
        (at as u16, flows.len() as u16 - 1)
    }

    /// The flows that a first packet to this host and port may belong to.
    pub(super) fn flows(&self, hosts: &Hosts, host: HostId, port: u16, is_udp: bool) -> &[u16] {
        let pool = hosts.pool(host);
        let class =
            self.classes.iter().find(|class| (class.is_udp, class.port, class.pool) == (is_udp, port, pool));
        class.map_or(&[], |class| &class.flows)
    }

    /// Whether hosts of a pool serve a port.
    #[inline]
    pub(super) fn have(&self, pool: u32, port: u16, is_udp: bool) -> bool {
        self.classes.iter().any(|class| (class.port, class.pool, class.is_udp) == (port, pool, is_udp))
    }

    /// The place of a flow in its class, and how many there are.
    #[inline]
    pub(super) fn place(&self, flow: u16) -> (u32, u32) {
        match self.of_flow.get(usize::from(flow)).copied().flatten() {
            Some((class, place)) => (place.into(), self.classes[usize::from(class)].flows.len() as u32),
            None => (0, 1),
        }
    }
}
