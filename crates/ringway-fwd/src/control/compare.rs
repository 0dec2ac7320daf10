//! The kernel's tables beside their copy here: their digests are compared.

use std::collections::HashSet;

use super::ControlError;
use super::attributes::hash;
use super::backlog::{Backlog, Touched};
use super::changes::Changes;
use super::event::{Event, Family, Net};
use super::follow::{Check, Follower};
use super::pulse::{PIECE, Pulse, pulsing};
use super::socket::Dump;
use super::state::State;
use super::tables::item;

/// For each family and route, the hash of its table and prefix, and its item of the digest.
type Items = [Vec<(u64, u64)>; 2];

impl Follower {
    pub(super) fn compare(&mut self, pulse: &mut Pulse<'_>) -> Result<Check, ControlError> {
        self.read_socket(pulse)?;
        let mut backlog = Backlog::default();
        let asked = self.ask(&mut backlog, pulse);
        let v6_moved = backlog.v6_routes();
        // However the queries ended: these changes come once.
        let Touched { routes: touched, neighbours, more } = self.apply_backlog(backlog, pulse);
        let Some((probe, theirs)) = asked? else { return Ok(Check::Busy) };
        if self.must_resync || more {
            return Ok(Check::Busy);
        }
        let mut equal = |family| {
            self.route_sum(family, &touched) == kernel_sum(&theirs[family as usize], &touched, pulse)
        };
        Ok(match () {
            () if probe.other_digest_but(&neighbours) != self.state.other_digest_but(&neighbours) => {
                Check::Differs
            }
            () if !equal(Family::V4) => Check::Differs,
            () if equal(Family::V6) => Check::Equal,
            () if v6_moved => Check::Busy, // see `read`
            () => Check::Differs,
        })
    }

    /// The kernel's tables now: all but routes, and of each family's routes the keys and items; `None` where they changed under a dump.
    /// Changes that come meanwhile go to `backlog`.
    fn ask(
        &mut self,
        backlog: &mut Backlog,
        pulse: &mut Pulse<'_>,
    ) -> Result<Option<(State, Items)>, ControlError> {
        let changes_socket = &mut self.changes_socket;
        let mut meanwhile = |backlog: &mut Backlog| backlog.read_from(changes_socket, pulse);
        let (mut probe, mut unused) = (State::default(), Changes::default());
        for dump in Dump::SMALL {
            let take = |event| _ = probe.apply(event, &mut unused, &mut Pulse::none());
            if !self.queries.dump(dump, take, || meanwhile(backlog))? {
                return Ok(None);
            }
        }
        let mut theirs = Items::default();
        for dump in Dump::ROUTES {
            let take = |event| {
                if let Event::Route(route, _) = event {
                    let path = hash(&route.path);
                    let of = &mut theirs[route.path.family as usize];
                    of.push((hash((route.table, route.net)), item(route.table, route.net, path)));
                }
            };
            if !self.queries.dump(dump, take, || meanwhile(backlog))? {
                return Ok(None);
            }
        }
        self.queries.settle()?;
        meanwhile(backlog)?;
        Ok(Some((probe, theirs)))
    }

    /// The digest of the routes of a family in the state, without the routes of some prefixes.
    fn route_sum(&self, family: Family, without: &HashSet<(u32, Net)>) -> u64 {
        let routes = &self.state.routes;
        let share = |(table, net): &(u32, Net)| -> u64 {
            let ids = match net {
                Net::V4(prefix) => routes.get(*table, *prefix),
                Net::V6(prefix) => routes.get(*table, *prefix),
            };
            ids.iter().fold(0, |sum: u64, id| sum.wrapping_add(item(*table, *net, routes.paths.hash(*id))))
        };
        let without = without.iter().filter(|(_, net)| net.family() == family);
        without.fold(self.state.route_digest(family), |sum, key| sum.wrapping_sub(share(key)))
    }
}

fn kernel_sum(routes: &[(u64, u64)], without: &HashSet<(u32, Net)>, pulse: &mut Pulse<'_>) -> u64 {
    let without: HashSet<u64> = without.iter().map(hash).collect();
    let counted = pulsing(routes, PIECE, pulse).filter(|(key, _)| !without.contains(key));
    counted.fold(0, |sum: u64, (_, item)| sum.wrapping_add(*item))
}
