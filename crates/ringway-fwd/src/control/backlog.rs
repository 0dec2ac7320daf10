//! Changes that come while tables are read, and what can't be known then.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::ControlError;
use super::event::{Event, Family, Mode, Net};
use super::health::Health;
use super::pulse::Pulse;
use super::socket::{ChangeSocket, SocketState};
use super::state::Inconsistency;

/// Changes kept while the tables are read.
const KEPT: usize = 1 << 18;

/// Changes that came while the tables were read.
#[derive(Default)]
pub(super) struct Backlog {
    pub(super) events: Vec<Event>,
    pub(super) lost: Option<Loss>,
}

/// What changes touched.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) routes: HashSet<(u32, Net)>,
    pub(super) neighbours: HashSet<(IpAddr, u32)>,
    /// Anything else, or what is not known.
    pub(super) more: bool,
}

/// Why a change is not known.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    Overrun,
    Inconsistency(Inconsistency),
}

impl Loss {
    pub(super) fn count(self, health: &mut Health) {
        match self {
            Self::Overrun => health.overruns += 1,
            Self::Inconsistency(inconsistency) => {
                health.inconsistencies += 1;
                health.inconsistency = Some(inconsistency);
            }
        }
    }
}

impl Backlog {
    pub(super) fn v6_routes(&self) -> bool {
        let v6 = |e: &Event| matches!(e, Event::Route(route, _) | Event::RouteGone(route) if route.path.family == Family::V6);
        self.events.iter().any(v6)
    }

    /// Whether a route of IPv4 replaced another one and then may have gone again. If the tables were read after that, to apply
    /// the first of it again would replace one that stayed.
    pub(super) fn replaced(&self) -> bool {
        let mut times = HashMap::new();
        for event in &self.events {
            if let Event::Route(route, mode) = event
                && let Net::V4(_) = route.net
            {
                let of: &mut (u32, bool) = times.entry((route.table, route.net)).or_default();
                *of = (of.0 + 1, of.1 || *mode == Mode::Replace);
            } else if let Event::RouteGone(route) = event {
                times.entry((route.table, route.net)).or_default().0 += 1;
            }
        }
        let silent = |e: &Event| {
            use Event::{AddressGone, Link, LinkGone, ObjectGone};
            matches!(e, Link(_) | LinkGone(_) | AddressGone(_) | ObjectGone(_))
        };
        let silent = self.events.iter().any(silent);
        times.values().any(|(times, replaced)| *replaced && (*times > 1 || silent))
    }

    pub(super) fn read_from(
        &mut self,
        changes_socket: &mut ChangeSocket,
        pulse: &mut Pulse<'_>,
    ) -> Result<(), ControlError> {
        loop {
            pulse.beat();
            match changes_socket.read_datagram(|event| self.events.push(event))? {
                SocketState::More if self.events.len() > KEPT => self.lost = Some(Loss::Overrun),
                SocketState::More => {}
                SocketState::Lost => self.lost = Some(Loss::Overrun),
                SocketState::Unread(why) => self.lost = Some(Loss::Inconsistency(why)),
                SocketState::All => return Ok(()),
            }
            if self.lost.is_some() {
                self.events.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::event::{Path, Route};
    use crate::control::{Kind, Via};

    fn blackhole(net: Net) -> Route {
        let (kind, via) = (Kind::Blackhole, Via::Hops(vec![]));
        let (family, protocol, metric, source, from) = (Family::V4, 9, 0, None, None);
        let path =
            Path { family, kind, protocol, scope: 0, tos: 0, metric, source, from, mtu: 0, other: 0, via };
        Route { table: 254, net, path, dead: vec![] }
    }

    #[test]
    fn replacing_and_removing_while_tables_are_read_is_not_sure() {
        let net = |n: u8| Net::V4(format!("192.0.2.{n}/32").parse().unwrap());
        let route = |n, mode| Event::Route(blackhole(net(n)), mode);
        let gone = |n| Event::RouteGone(blackhole(net(n)));
        let replaced = |events: &[Event]| Backlog { events: events.to_vec(), lost: None }.replaced();
        assert!(replaced(&[route(1, Mode::Replace), gone(1)]));
        assert!(replaced(&[route(1, Mode::First), route(1, Mode::Replace)]));
        assert!(replaced(&[route(1, Mode::Replace), Event::LinkGone(7)]), "routes go with it unsaid");
        assert!(!replaced(&[route(1, Mode::Replace), gone(2)]));
        assert!(!replaced(&[route(1, Mode::New), gone(1), Event::LinkGone(7)]));
    }
}
