//! The kernel's tables as its messages describe them: a pure model, without sockets.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::attributes::hash;
use super::changes::{Changes, DEFAULT, LOCAL, MAIN};
use super::event::{
    Address, Event, Family, Link, Mode, Neighbour, Net, Object, Path, Route, Rule, Setting, Via,
};
use super::pulse::Pulse;
use super::tables::{Ip, Routes, item};
use ringway_fib::Prefix;

/// Why a message does not fit the messages before: something was missed.
pub type Inconsistency = &'static str;

/// Links, addresses, neighbours, routes, next-hop objects, rules and settings of a network namespace.
///
/// It changes by [`apply`](Self::apply) alone, and does the same with the same events. The kernel removes some things without a word,
/// and so does this:
///
/// * IPv4 routes whose interface is set down, goes away or loses its last address
/// * next-hop objects whose interface loses its carrier, with their IPv4 routes
/// * routes of an object that is removed
///
/// ```
/// use ringway_fwd::control::{Changes, State};
/// let state = State::default();
/// assert_eq!(state.routes(), 0);
/// assert!(Changes::default().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct State {
    pub(super) links: BTreeMap<u32, Link>,
    pub(super) addresses: BTreeSet<Address>,
    pub(super) neighbours: BTreeMap<(IpAddr, u32), [u8; 6]>,
    pub(super) objects: BTreeMap<u32, Object>,
    pub(super) rules: BTreeSet<Rule>,
    pub(super) settings: BTreeMap<(Family, i32), Settings>,
    pub(super) routes: Routes,
    /// Interfaces whose hops the kernel calls dead.
    pub(super) dead: BTreeSet<(Family, u32)>,
    /// Routes removed with an address, which the kernel may still tell of.
    pub(super) ghosts: HashSet<u64>,
}

/// What is known of an interface's settings, or of all (-1) or future ones (-2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Settings {
    forwarding: bool,
    pub(super) ignore_linkdown: bool,
    reverse_path: u8,
}

/// Interface of settings that are for all.
const ALL: i32 = -1;

impl State {
    /// Takes a change in, and notes what may have to be brought to the data plane.
    ///
    /// Returns an inconsistency when the change does not fit the changes before; it is taken in all the same.
    pub fn apply(
        &mut self,
        event: Event,
        changes: &mut Changes,
        pulse: &mut Pulse<'_>,
    ) -> Option<Inconsistency> {
        match event {
            Event::Link(link) => self.link(link, changes, pulse),
            Event::LinkGone(dev) => self.link_gone(dev, changes, pulse),
            Event::Address(address) => self.address(address, changes),
            Event::AddressGone(address) => self.address_gone(address, changes, pulse),
            Event::Neighbour(Neighbour { dev, addr, link }) => {
                if self.neighbours.insert((addr, dev), link) != Some(link) {
                    changes.neighbours.push((addr, dev));
                }
            }
            Event::NeighbourGone(dev, addr) => {
                if self.neighbours.remove(&(addr, dev)).is_some() {
                    changes.neighbours.push((addr, dev));
                }
            }
            Event::Route(route, mode) => return self.route(route, mode, changes),
            Event::RouteGone(route) => return self.route_gone(route, changes),
            Event::Object(id, object) => {
                changes.hops |= self.objects.get(&id) != Some(&object);
                self.objects.insert(id, object);
            }
            Event::ObjectGone(id) => self.objects_gone(vec![id], changes, pulse),
            Event::Rule(rule) => drop(self.rules.insert(rule)),
            Event::RuleGone(rule) => drop(self.rules.remove(&rule)),
            Event::Setting(setting) => self.setting(setting, changes),
        }
        None
    }

    fn route(&mut self, route: Route, mode: Mode, changes: &mut Changes) -> Option<Inconsistency> {
        let Route { table, net, path, dead } = route;
        self.note_dead(&path, &dead, changes);
        changes.route(table, net);
        match net {
            Net::V4(prefix) => self.add(table, prefix, path, mode),
            Net::V6(prefix) => self.add(table, prefix, path, mode),
        }
    }

    fn add<A: Ip>(&mut self, table: u32, prefix: Prefix<A>, path: Path, mode: Mode) -> Option<Inconsistency> {
        let id = self.routes.paths.take(path);
        let (new, inconsistency) = A::added(&self.routes.paths, self.routes.get(table, prefix), id, mode);
        self.routes.set(table, prefix, &new);
        self.routes.paths.give(id);
        inconsistency
    }

    fn route_gone(&mut self, route: Route, changes: &mut Changes) -> Option<Inconsistency> {
        changes.route(route.table, route.net);
        let known = match route.net {
            Net::V4(prefix) => self.remove(route.table, prefix, &route.path),
            Net::V6(prefix) => self.remove(route.table, prefix, &route.path),
        };
        let mut ghost = || self.ghosts.remove(&item(route.table, route.net, hash(&route.path)));
        // IPv6 routes are removed with a message or without, as its settings say: no message too many is a surprise
        let surprise = !known && route.path.family == Family::V4 && !ghost();
        surprise.then_some("the route that was removed was not there")
    }

    fn remove<A: Ip>(&mut self, table: u32, prefix: Prefix<A>, path: &Path) -> bool {
        let old = self.routes.get(table, prefix).to_vec();
        let Some(new) = A::removed(&mut self.routes.paths, &old, path) else { return false };
        self.routes.set(table, prefix, &new);
        let made = new.into_iter().filter(|id| !old.contains(id));
        made.for_each(|id| self.routes.paths.give(id));
        true
    }

    /// Hops of a multipath route outlive their interface; the kernel calls them dead.
    fn note_dead(&mut self, path: &Path, dead: &[u32], changes: &mut Changes) {
        let Via::Hops(hops) = &path.via else { return };
        if hops.len() < 2 {
            return;
        }
        for hop in hops {
            if !self.heard(path.family, hop.dev) {
                continue; // a hop without carrier is called dead, too, and comes back without a word
            }
            let key = (path.family, hop.dev);
            changes.hops |=
                if dead.contains(&hop.dev) { self.dead.insert(key) } else { self.dead.remove(&key) };
        }
    }

    fn setting(&mut self, setting: Setting, changes: &mut Changes) {
        let held = self.settings.entry((setting.family, setting.dev)).or_default();
        let ignored = held.ignore_linkdown;
        held.forwarding = setting.forwarding.unwrap_or(held.forwarding);
        held.ignore_linkdown = setting.ignore_linkdown.unwrap_or(held.ignore_linkdown);
        held.reverse_path = setting.reverse_path.unwrap_or(held.reverse_path);
        changes.all |= held.ignore_linkdown != ignored;
    }

    /// How many routes there are, in all tables.
    pub fn routes(&self) -> usize {
        self.routes.len()
    }

    /// All routes, by family, table and prefix; the routes of one prefix are in the kernel's order.
    pub fn all_routes(&self) -> impl Iterator<Item = (u32, Net, &Path)> {
        self.of_family::<u32>().chain(self.of_family::<u128>())
    }

    fn of_family<A: Ip>(&self) -> impl Iterator<Item = (u32, Net, &Path)> {
        let tables = A::tables(&self.routes).iter();
        let slots = tables.flat_map(|(table, t)| t.iter().map(|(prefix, ids)| (*table, A::net(prefix), ids)));
        slots.flat_map(move |(table, net, ids)| {
            ids.iter().map(move |id| (table, net, &**self.routes.paths.get(*id)))
        })
    }

    /// An interface.
    pub fn interface(&self, dev: u32) -> Option<&Link> {
        self.links.get(&dev)
    }

    /// All interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    /// All addresses.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.addresses.iter().copied()
    }

    /// All neighbours that can be sent to.
    pub fn neighbours(&self) -> impl Iterator<Item = Neighbour> {
        self.neighbours.iter().map(|((addr, dev), link)| Neighbour { dev: *dev, addr: *addr, link: *link })
    }

    /// All next-hop objects, by number.
    pub fn objects(&self) -> impl Iterator<Item = (u32, &Object)> {
        self.objects.iter().map(|(id, object)| (*id, object))
    }

    /// Whether packets of a family that an interface receives may be forwarded: `net.ipv4.conf.IF.forwarding`; for IPv6
    /// `net.ipv6.conf.all.forwarding`, which the kernel asks (`ip6_forward` of net/ipv6/ip6_output.c), and that of the interface.
    pub fn forwards(&self, family: Family, dev: u32) -> bool {
        let on = |dev| self.setting_of(family, dev).forwarding;
        on(dev.cast_signed()) && (family == Family::V4 || on(ALL))
    }

    /// The reverse path filter of IPv4 for packets that an interface receives, 0 (off), 1 (strict) or 2 (loose): the larger of
    /// `net.ipv4.conf.all.rp_filter` and its own.
    pub fn reverse_path(&self, dev: u32) -> u8 {
        let of = |dev| self.setting_of(Family::V4, dev).reverse_path;
        of(ALL).max(of(dev.cast_signed()))
    }

    fn setting_of(&self, family: Family, dev: i32) -> Settings {
        self.settings.get(&(family, dev)).copied().unwrap_or_default()
    }

    /// Rules and routes that the kernel follows and [`Resolver`](super::Resolver) does not: rules of policy routing beside the rules that every
    /// system has, and routes in table `default`. In words, one for each; none when the data plane does as the kernel does.
    pub fn unsupported(&self) -> Vec<String> {
        let usual = |family, priority, table| {
            move |r: &Rule| r.plain && (r.family, r.priority, r.table) == (family, priority, table)
        };
        let mut said = Vec::new();
        let mut rest: Vec<_> = self.rules.iter().collect();
        for (family, priority, table, needed) in [
            (Family::V4, 0, LOCAL, true),
            (Family::V4, 32766, MAIN, true),
            (Family::V4, 32767, DEFAULT, false),
            (Family::V6, 0, LOCAL, true),
            (Family::V6, 32766, MAIN, true),
        ] {
            let is = usual(family, priority, table);
            let any = rest.iter().any(|r| is(r));
            // without any rule the family itself is missing
            if needed && !any && self.rules.iter().any(|r| r.family == family) {
                said.push(format!(
                    "{family:?}: the rule for table {table} at priority {priority} is missing"
                ));
            }
            rest.retain(|r| !is(r));
        }
        said.extend(
            rest.iter()
                .map(|r| format!("{:?}: rule at priority {} for table {}", r.family, r.priority, r.table)),
        );
        if u32::tables(&self.routes).contains_key(&DEFAULT)
            || u128::tables(&self.routes).contains_key(&DEFAULT)
        {
            said.push(format!("routes in table {DEFAULT} (default)"));
        }
        said
    }

    /// The paths of a prefix in a table, best first.
    pub(super) fn paths<A: Ip>(
        &self,
        table: u32,
        prefix: Prefix<A>,
    ) -> impl ExactSizeIterator<Item = &Arc<Path>> {
        self.routes.get(table, prefix).iter().map(|id| self.routes.paths.get(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, carrier: bool) -> Event {
        let (name, address) = (format!("a{index}"), None);
        let (hardware, up, running, loopback, mtu) = (1, true, true, false, 1500);
        Event::Link(Link { index, name, hardware, up, carrier, running, loopback, mtu, address, master: 0 })
    }

    fn state(events: impl IntoIterator<Item = Event>) -> State {
        let mut state = State::default();
        for event in events {
            state.apply(event, &mut Changes::default(), &mut Pulse::none());
        }
        state
    }

    #[test]
    fn a_carrier_that_changed_unheard_is_a_difference() {
        let (before, after) = (state([link(1, true)]), state([link(1, false)]));
        assert!(after.differences(&before, &mut Pulse::none()).all, "routes may be absent without a carrier");
        assert!(!after.differences(&after, &mut Pulse::none()).all);
    }

    #[test]
    fn neighbours_that_moved_excuse_nothing_else() {
        let neighbour = |n| Event::Neighbour(Neighbour { dev: 1, addr: [10, 0, 0, n].into(), link: [n; 6] });
        let (ours, theirs) = (state([link(1, true), neighbour(1)]), state([link(1, true), neighbour(2)]));
        let moved: HashSet<_> = [1, 2].map(|n| ([10, 0, 0, n].into(), 1)).into();
        assert_ne!(ours.other_digest(), theirs.other_digest());
        assert_eq!(ours.other_digest_but(&moved), theirs.other_digest_but(&moved));
        let theirs = state([link(1, true), link(2, true), neighbour(2)]);
        assert_ne!(ours.other_digest_but(&moved), theirs.other_digest_but(&moved));
    }

    #[test]
    fn settings_of_all_interfaces_count() {
        let setting = |family, dev, forwarding, reverse_path| {
            let (forwarding, reverse_path) = (Some(forwarding), Some(reverse_path));
            Event::Setting(Setting { family, dev, forwarding, ignore_linkdown: None, reverse_path })
        };
        let s = state([setting(Family::V4, 7, true, 1), setting(Family::V6, 7, true, 0)]);
        assert!(s.forwards(Family::V4, 7) && !s.forwards(Family::V6, 7) && !s.forwards(Family::V4, 8));
        assert_eq!((s.reverse_path(7), s.reverse_path(8)), (1, 0));
        let s = state([
            setting(Family::V4, ALL, false, 2),
            setting(Family::V4, 7, true, 1),
            setting(Family::V6, ALL, true, 0),
            setting(Family::V6, 7, true, 0),
        ]);
        assert!(s.forwards(Family::V4, 7) && s.forwards(Family::V6, 7));
        assert_eq!((s.reverse_path(7), s.reverse_path(8)), (2, 2));
    }
}
