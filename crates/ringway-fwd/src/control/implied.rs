//! What the kernel does without a word when interfaces, addresses and next-hop objects change.
//!
//! Sources: `fib_sync_down_dev`, `fib_sync_down_addr`, `fib_sync_up` of net/ipv4/fib_semantics.c, `fib_netdev_event` and
//! `fib_inetaddr_event` of net/ipv4/fib_frontend.c, `fib6_ifdown` and `fib6_remove_prefsrc` of net/ipv6/route.c,
//! `remove_nexthop` and `nh_netdev_event` of net/ipv4/nexthop.c.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::changes::{Changes, MAIN};
use super::event::{Address, Family, Link, Object, Path, Via};
use super::families::fewer;
use super::paths::PathId;
use super::pulse::{PIECE, Pulse, pulsing};
use super::state::State;
use super::tables::{Ip, item};

/// `RT_SCOPE_HOST`: routes to addresses of this host, which outlive the link being set down.
const HOST: u8 = 254;
/// `RTPROT_KERNEL`.
const KERNEL: u8 = 2;

/// Most removed routes to remember.
const GHOSTS: usize = 1 << 16;

/// What happened to an interface.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// It was set down.
    Down,
    /// It lost its last address of IPv4.
    Addresses,
    /// It does not exist any more.
    Gone,
}

type Rewrite = HashMap<PathId, Option<PathId>>;

impl State {
    pub(super) fn link(&mut self, link: Link, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        let dev = link.index;
        let (up, running, carrier) = (link.up, link.running, link.carrier);
        if !(up && running) {
            self.objects_of(dev, changes, pulse);
        }
        let old = self.links.get(&dev);
        if old == Some(&link) {
            return;
        }
        let was_up = old.is_some_and(|old| old.up);
        changes.hops = true;
        changes.all |= old.is_some_and(|old| old.carrier != carrier) && self.ignores_linkdown(dev);
        self.links.insert(dev, link);
        if was_up && !up {
            self.lose_v4(dev, Loss::Down, changes, pulse);
            self.lose_v6(dev, Loss::Down, changes, pulse);
        }
        if !was_up && up {
            self.dead.remove(&(Family::V4, dev));
            self.dead.remove(&(Family::V6, dev));
        }
    }

    pub(super) fn link_gone(&mut self, dev: u32, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        changes.hops = true;
        self.links.remove(&dev);
        self.objects_of(dev, changes, pulse);
        self.lose_v4(dev, Loss::Gone, changes, pulse);
        self.lose_v6(dev, Loss::Gone, changes, pulse);
        for family in [Family::V4, Family::V6] {
            self.dead.remove(&(family, dev));
            self.settings.remove(&(family, dev.cast_signed()));
        }
        self.addresses.retain(|address| address.dev != dev);
        let gone = self.neighbours.keys().filter(|(_, of)| *of == dev);
        changes.neighbours.extend(gone);
        self.neighbours.retain(|(_, of), _| *of != dev);
    }

    pub(super) fn address(&mut self, address: Address, changes: &mut Changes) {
        self.addresses.insert(address);
        let up = self.links.get(&address.dev).is_some_and(|link| link.up);
        if up && address.addr.is_ipv4() {
            changes.hops |= self.dead.remove(&(Family::V4, address.dev));
        }
    }

    pub(super) fn address_gone(&mut self, address: Address, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        if !self.addresses.remove(&address) {
            return;
        }
        if !self.addresses.iter().any(|a| a.addr == address.addr) {
            self.lose_source(address.addr, changes, pulse);
        }
        let v4 = |a: &Address| a.dev == address.dev && a.addr.is_ipv4();
        if address.addr.is_ipv4() && !self.addresses.iter().any(v4) {
            self.lose_v4(address.dev, Loss::Addresses, changes, pulse);
        }
    }

    /// IPv4 routes all of whose hops are dead are removed; an interface that is gone takes its multipath routes along at once.
    fn lose_v4(&mut self, dev: u32, loss: Loss, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        changes.hops |= self.dead.insert((Family::V4, dev));
        let lost = |path: &Path| match &path.via {
            Via::Hops(hops) if hops.iter().any(|hop| hop.dev == dev) => {
                let all = || hops.iter().all(|hop| self.dead.contains(&(Family::V4, hop.dev)));
                loss == Loss::Gone || !(loss == Loss::Down && path.scope == HOST) && all()
            }
            _ => false,
        };
        let rewrite = self.choose::<u32>(lost, pulse);
        if loss == Loss::Addresses {
            self.remember(&rewrite, |path| path.protocol == KERNEL, pulse);
        }
        self.rewrite::<u32>(&rewrite, changes, pulse);
    }

    /// IPv6 routes lose single hops to an interface that is gone, and are removed with the last live one.
    fn lose_v6(&mut self, dev: u32, loss: Loss, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        changes.hops |= self.dead.insert((Family::V6, dev));
        let mut shorter = Vec::new();
        let mut rewrite = Rewrite::new();
        let all = pulsing(self.routes.paths.all(), PIECE, pulse);
        for (id, path) in all.filter(|(_, path)| path.family == Family::V6) {
            let Via::Hops(hops) = &path.via else { continue };
            if !hops.iter().any(|hop| hop.dev == dev) {
                continue;
            }
            match loss {
                Loss::Gone => shorter.push((id, fewer(path, |hop| hop.dev != dev))),
                _ if hops.iter().all(|hop| self.dead.contains(&(Family::V6, hop.dev))) => {
                    rewrite.insert(id, None);
                }
                _ => {}
            }
        }
        rewrite.extend(self.made(shorter));
        self.finish::<u128>(rewrite, changes, pulse);
    }

    /// An address is not the host's any more. IPv4 routes of table main that name it as source are removed; routes of IPv6 forget it.
    fn lose_source(&mut self, addr: IpAddr, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        let all = pulsing(self.routes.paths.all(), PIECE, pulse);
        let named: Vec<_> = all.filter(|(_, path)| path.source == Some(addr)).collect();
        if named.is_empty() {
            return;
        }
        match addr {
            IpAddr::V4(_) => {
                let named: HashSet<_> = named.iter().map(|(id, _)| *id).collect();
                let main = u32::tables(&self.routes).get(&MAIN);
                let slots = pulsing(main.into_iter().flat_map(|table| table.iter()), PIECE, pulse);
                let hit = slots.filter(|(_, ids)| ids.iter().any(|id| named.contains(id)));
                let left = |ids: &[PathId]| ids.iter().copied().filter(|id| !named.contains(id)).collect();
                let new: Vec<(_, Vec<_>)> = hit.map(|(prefix, ids)| (prefix, left(ids))).collect();
                self.remember(&named.iter().map(|id| (*id, None)).collect(), |_| true, pulse);
                for (prefix, ids) in pulsing(new, PIECE, pulse) {
                    self.routes.set(MAIN, prefix, &ids);
                    changes.v4.push(prefix);
                }
            }
            IpAddr::V6(_) => {
                let without = |(id, path): (PathId, &Path)| (id, Some(Path { source: None, ..path.clone() }));
                let new = named.into_iter().map(without).collect();
                let rewrite = self.made(new);
                self.finish::<u128>(rewrite, changes, pulse);
            }
        }
    }

    /// Objects through an interface that can't be sent to.
    fn objects_of(&mut self, dev: u32, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        let through = self.objects.iter().filter(|(_, o)| matches!(o, Object::Hop(hop) if hop.dev == dev));
        let ids: Vec<_> = through.map(|(id, _)| *id).collect();
        if !ids.is_empty() {
            self.objects_gone(ids, changes, pulse);
        }
    }

    /// Objects are removed, from their groups too, and with all their routes. So is a group that becomes empty.
    pub(super) fn objects_gone(&mut self, mut ids: Vec<u32>, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        changes.hops = true;
        for id in &ids {
            self.objects.remove(id);
        }
        for (id, object) in &mut self.objects {
            let Object::Group(members) = object else { continue };
            members.retain(|(member, _)| !ids.contains(member));
            if members.is_empty() {
                ids.push(*id);
            }
        }
        self.objects.retain(|id, _| !ids.contains(id));
        let through = |path: &Path| matches!(path.via, Via::Object(id) if ids.contains(&id));
        let (v4, v6) = (self.choose::<u32>(through, pulse), self.choose::<u128>(through, pulse));
        self.rewrite::<u32>(&v4, changes, pulse);
        self.rewrite::<u128>(&v6, changes, pulse);
    }

    /// Paths of a family to be removed.
    fn choose<A: Ip>(&self, lost: impl Fn(&Path) -> bool, pulse: &mut Pulse<'_>) -> Rewrite {
        let all = pulsing(self.routes.paths.all(), PIECE, pulse).filter(|(_, path)| path.family == A::FAMILY);
        all.filter(|(_, path)| lost(path)).map(|(id, _)| (id, None)).collect()
    }

    /// Takes numbers for new paths.
    fn made(&mut self, new: Vec<(PathId, Option<Path>)>) -> Rewrite {
        new.into_iter().map(|(id, path)| (id, path.map(|path| self.routes.paths.take(path)))).collect()
    }

    /// Rewrites, and gives back what [`made`](Self::made) took.
    fn finish<A: Ip>(&mut self, rewrite: Rewrite, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        self.rewrite::<A>(&rewrite, changes, pulse);
        rewrite.into_values().flatten().for_each(|id| self.routes.paths.give(id));
    }

    fn rewrite<A: Ip>(&mut self, rewrite: &Rewrite, changes: &mut Changes, pulse: &mut Pulse<'_>) {
        if rewrite.is_empty() {
            return;
        }
        for (table, prefix) in self.routes.rewrite::<A>(rewrite, pulse) {
            changes.route(table, A::net(prefix));
        }
    }

    /// Notes routes of IPv4 about to be removed, of which the kernel may still tell.
    fn remember(&mut self, rewrite: &Rewrite, which: impl Fn(&Path) -> bool, pulse: &mut Pulse<'_>) {
        if self.ghosts.len() > GHOSTS {
            self.ghosts.clear();
        }
        let paths = &self.routes.paths;
        let told = |id: &&PathId| rewrite.contains_key(id) && which(paths.get(**id));
        for (table, t) in u32::tables(&self.routes) {
            for (prefix, ids) in pulsing(t.iter(), PIECE, pulse) {
                let items = ids.iter().filter(told).map(|id| item(*table, u32::net(prefix), paths.hash(*id)));
                self.ghosts.extend(items);
            }
        }
    }

    /// Whether routes count as absent while this interface has no carrier.
    pub(super) fn ignores_linkdown(&self, dev: u32) -> bool {
        let on = |family, dev| self.settings.get(&(family, dev)).is_some_and(|s| s.ignore_linkdown);
        let dev = dev.cast_signed();
        on(Family::V4, -1) || on(Family::V4, dev) || on(Family::V6, dev)
    }

    /// Whether one of several hops of a route of this family may be used.
    pub(super) fn usable(&self, family: Family, dev: u32) -> bool {
        !self.dead.contains(&(family, dev)) && self.heard(family, dev)
    }

    /// Whether an interface has a carrier, or needs none.
    pub(super) fn heard(&self, family: Family, dev: u32) -> bool {
        let on = |of| self.settings.get(&(family, of)).is_some_and(|s| s.ignore_linkdown);
        let ignores = || on(dev.cast_signed()) || family == Family::V4 && on(-1);
        self.links.get(&dev).is_none_or(|link| link.carrier) || !ignores()
    }
}
